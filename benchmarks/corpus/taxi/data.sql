-- Rides, stations and weather, in the likeness of DuckDB's tutorials.
CREATE TABLE rides AS SELECT CAST(r AS BIGINT) AS rider, TIMESTAMP '2024-05-01' + to_seconds(draw(r * 16 + n, 't', 31 * 86400)) AS pickup,
  CAST(draw(r * 16 + n, 'z', 10) + 1 AS INTEGER) AS zone, CAST(draw(r * 16 + n, 'to', 10) + 1 AS INTEGER) AS to_zone,
  CAST(draw(r * 16 + n, 'd', 300) / 10 AS DOUBLE) AS miles, CAST(3 + draw(r * 16 + n, 'f', 6000) / 100 AS DOUBLE) AS fare,
  CASE WHEN draw(r * 16 + n, 'tip0', 3) = 0 THEN NULL ELSE CAST(draw(r * 16 + n, 'tip', 1500) / 100 AS DOUBLE) END AS tip,
  CAST(draw(r * 16 + n, 'p', 4) + 1 AS TINYINT) AS passengers, pick(r * 16 + n, 'pay', ['card', 'cash', 'app']) AS payment,
  CAST(draw(r * 16 + n, 'min', 60) + 2 AS SMALLINT) AS minutes FROM range(900) AS t(r), range(8) AS u(n) WHERE n <= draw(r, 'many', 8);
CREATE TABLE zones AS SELECT CAST(i + 1 AS INTEGER) AS id, 'zone ' || (i + 1) AS name, ['Bronx', 'Queens', 'Manhattan'][i % 3 + 1] AS borough,
  CAST(i * 1.5 AS DOUBLE) AS x FROM range(10) AS t(i);
CREATE TABLE weather AS SELECT DATE '2024-05-01' + CAST(i AS INTEGER) AS day, CAST(draw(i, 'temp', 25) + 5 AS INTEGER) AS high,
  draw(i, 'rain', 3) = 0 AS rain FROM range(31) AS t(i);
CREATE TABLE prices AS SELECT * FROM (VALUES ('short', 0.0, 5.0), ('middle', 5.0, 15.0), ('long', 15.0, 100.0)) AS t(class, at_least, below);
