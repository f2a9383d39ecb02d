import java.sql.*;

/** A program as an analyst's: connects by JDBC, looks around, asks, and is refused. */
public class Ask {
    public static void main(String[] given) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + given[0] + "/hospital";
        try (Connection there = DriverManager.getConnection(url, "ana", System.getenv("TOKEN"))) {
            try (ResultSet tables = there.getMetaData().getTables(null, null, "%", new String[] {"TABLE", "VIEW"})) {
                while (tables.next()) System.out.println("table " + tables.getString("TABLE_NAME"));
            }
            try (ResultSet columns = there.getMetaData().getColumns(null, null, "visits", "%")) {
                while (columns.next()) System.out.println("column " + columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME"));
            }
            try (Statement one = there.createStatement()) {
                one.execute("SET discreet.epsilon = 0.5");
                try (ResultSet rows = one.executeQuery("SELECT county, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY county ORDER BY county")) {
                    ResultSetMetaData about = rows.getMetaData();
                    for (int at = 1; at <= about.getColumnCount(); at++) System.out.println("type " + about.getColumnName(at) + " " + about.getColumnTypeName(at));
                    while (rows.next()) System.out.println("row " + rows.getString(1) + " " + rows.getLong("n") + " " + rows.getDouble("a"));
                }
                System.out.println("notice " + (one.getWarnings() == null ? "none" : one.getWarnings().getMessage()));
            }
            // Prepared with a parameter, more often than the driver's threshold, after which it is prepared by name.
            try (PreparedStatement one = there.prepareStatement("SELECT COUNT(*) AS n FROM visits WHERE age < ?")) {
                for (int turn = 0; turn < 7; turn++) {
                    one.setInt(1, 50);
                    try (ResultSet rows = one.executeQuery()) { rows.next(); System.out.println("prepared " + rows.getLong(1)); }
                }
            }
            // A date comes with a zone and without a type, a decimal as bytes.
            try (PreparedStatement one = there.prepareStatement("SELECT COUNT(*) AS n FROM visits WHERE DATE '2025-01-01' < ? AND age < ?")) {
                one.setDate(1, Date.valueOf("2025-06-01"));
                one.setBigDecimal(2, new java.math.BigDecimal("50.0"));
                try (ResultSet rows = one.executeQuery()) { rows.next(); System.out.println("typed " + rows.getLong(1)); }
            }
            try (Statement one = there.createStatement()) {
                one.executeQuery("SELECT age FROM visits");
            } catch (SQLException refused) {
                System.out.println("refused " + refused.getSQLState() + " " + refused.getMessage().replace('\n', ' '));
            }
            there.setAutoCommit(false);
            try (Statement one = there.createStatement()) {
                one.setFetchSize(1);
                try (ResultSet rows = one.executeQuery("SELECT county, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY county ORDER BY county")) {
                    int count = 0;
                    while (rows.next()) count++;
                    System.out.println("fetched " + count);
                }
            }
            there.commit();
        }
    }
}
