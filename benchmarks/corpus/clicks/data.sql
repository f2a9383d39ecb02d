-- Page views as a web analytics tool keeps them, with the columns of ClickBench that its questions read.
CREATE TABLE hits AS WITH v AS (
  SELECT u, n, u * 40 + n AS k FROM range(600) AS t(u), range(20) AS w(n) WHERE n <= draw(u, 'many', 20))
SELECT CAST(k AS BIGINT) AS WatchID, CAST(draw(k, 'j', 2) AS SMALLINT) AS JavaEnable,
  CASE WHEN draw(k, 'ti', 9) = 0 THEN 'Search with Google' ELSE pick(k, 'tt', ['News', 'Shop', 'Forum']) END AS Title,
  TIMESTAMP '2013-07-01' + to_seconds(draw(k, 'time', 31 * 86400)) AS EventTime,
  DATE '2013-07-01' + CAST(draw(k, 'time', 31 * 86400) // 86400 AS INTEGER) AS EventDate,
  CAST(pick(k, 'co', [62, 62, 62, 17, 34]) AS INTEGER) AS CounterID, CAST(draw(u, 'ip', 500) AS INTEGER) AS ClientIP,
  CAST(draw(u, 're', 12) + 1 AS INTEGER) AS RegionID, CAST(u + 4000000000 AS BIGINT) AS UserID,
  pick(k, 'url', ['http://a.example/', 'http://b.example/google', 'http://c.google.example/', 'https://www.d.example/x'])
    || draw(k, 'page', 5) AS URL,
  CASE WHEN draw(k, 'rf', 3) = 0 THEN '' ELSE pick(k, 'ref', ['http://www.one.example/', 'https://two.example/']) || 'p' END
    AS Referer,
  CAST(CASE WHEN draw(k, 'rf', 3) = 0 THEN 0 ELSE draw(k, 'rr', 2) END AS SMALLINT) AS IsRefresh,
  CAST(CASE WHEN draw(k, 'ad', 4) = 0 THEN draw(k, 'ae', 5) + 1 ELSE 0 END AS SMALLINT) AS AdvEngineID,
  CAST(pick(k, 'rw', [1024, 1280, 1366, 1638, 1920, 9999]) AS SMALLINT) AS ResolutionWidth,
  CAST(pick(k, 'ww', [900, 1100, 1500, -5]) AS SMALLINT) AS WindowClientWidth,
  CAST(pick(k, 'wh', [600, 800]) AS SMALLINT) AS WindowClientHeight,
  CASE WHEN draw(k, 'sp', 2) = 0 THEN '' ELSE pick(k, 'spp', ['boat', 'car', 'garden', 'house', 'plum jam']) END
    AS SearchPhrase,
  CAST(draw(k, 'se', 4) AS SMALLINT) AS SearchEngineID, CAST(draw(u, 'mp', 3) AS SMALLINT) AS MobilePhone,
  CASE draw(u, 'mp', 3) WHEN 0 THEN '' ELSE pick(u, 'mm', ['iPad', 'Nexus', 'Lumia']) END AS MobilePhoneModel,
  CAST(draw(k, 'tr', 6) - 1 AS SMALLINT) AS TraficSourceID, CAST(draw(k, 'dl', 10) // 9 AS SMALLINT) AS IsDownload,
  CAST(draw(k, 'li', 3) // 2 AS SMALLINT) AS IsLink, CAST(draw(k, 'dc', 8) // 7 AS SMALLINT) AS DontCountHits,
  CAST(draw(k, 'uh', 1000000) AS BIGINT) AS URLHash
FROM v;
CREATE TABLE regions AS SELECT CAST(i + 1 AS INTEGER) AS id, 'region ' || (i + 1) AS name,
  ['north', 'south', 'east'][i % 3 + 1] AS side FROM range(12) AS t(i);
