suppressMessages(library(RPostgreSQL))
connection <- dbConnect(
  PostgreSQL(), host = "127.0.0.1", port = as.integer(commandArgs(TRUE)[1]), user = "ana",
  password = Sys.getenv("TOKEN"), dbname = "hospital"
)
cat("table", dbListTables(connection), "\n")
cat("columns", sort(dbListFields(connection, "visits")), "\n")
invisible(dbGetQuery(connection, "SET discreet.epsilon = 0.5"))
asked <- "SELECT county, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY county ORDER BY county"
answer <- dbGetQuery(connection, asked)
cat("types", sapply(answer, class), "\n")
cat("county", answer$county, "\n")
cat("sound", all(answer$n > 0, answer$n < 3000, answer$a >= 0, answer$a <= 120), "\n")
cat("again", identical(answer, dbGetQuery(connection, asked)), "\n")
refused <- suppressWarnings(try(dbGetQuery(connection, "SELECT age FROM visits"), silent = TRUE))
cat("refused", grepl("Nothing was charged", dbGetException(connection)$errorMsg), "\n")
invisible(dbDisconnect(connection))
