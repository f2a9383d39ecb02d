-- # 01: all page views
SELECT COUNT(*) AS n FROM hits;

-- # 02: page views from an advertisement
SELECT COUNT(*) AS n FROM hits WHERE AdvEngineID <> 0;

-- # 03: a sum, a count and an average at once
SELECT SUM(AdvEngineID) AS s, COUNT(*) AS n, AVG(ResolutionWidth) AS w FROM hits;

-- # 04: the average of a number that identifies people
-- no answer limits
SELECT AVG(UserID) AS u FROM hits;
-- instead
SELECT AVG(clamp(UserID, 0, 100)) AS u FROM hits;

-- # 05: how many users there are
SELECT COUNT(DISTINCT UserID) AS users FROM hits;

-- # 06: how many phrases were searched for
SELECT COUNT(DISTINCT SearchPhrase) AS phrases FROM hits;

-- # 07: the first and the last day
SELECT MIN(EventDate) AS first, MAX(EventDate) AS last FROM hits;
-- truth
SELECT quantile_disc(EventDate, 0.01) AS first, quantile_disc(EventDate, 0.99) AS last FROM hits;

-- # 08: advertisements by engine, the most frequent first
SELECT AdvEngineID, COUNT(*) AS n FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY n DESC, AdvEngineID;

-- # 09: regions with the most users
SELECT RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC, RegionID LIMIT 10;

-- # 10: several numbers of each region
SELECT RegionID, SUM(AdvEngineID) AS s, COUNT(*) AS c, AVG(ResolutionWidth) AS w, COUNT(DISTINCT UserID) AS u
FROM hits GROUP BY RegionID ORDER BY c DESC, RegionID LIMIT 10;

-- # 11: phone models by users, found for a delta
-- delta 1/1000000
-- max_groups 10
SELECT MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel
ORDER BY u DESC, MobilePhoneModel LIMIT 10;

-- # 12: phones and models by users, found for a delta
-- delta 1/1000000
-- max_groups 10
SELECT MobilePhone, MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> ''
GROUP BY MobilePhone, MobilePhoneModel HAVING COUNT(DISTINCT UserID) > 0 ORDER BY u DESC, 1, 2;

-- # 13: the most frequent phrases, found for a delta
-- delta 1/1000000
-- max_groups 20
SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;

-- # 14: phrases by users, found for a delta
-- delta 1/1000000
-- max_groups 20
SELECT SearchPhrase, COUNT(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> '' GROUP BY 1 ORDER BY u DESC, 1 LIMIT 10;

-- # 15: phrases by engine, found for a delta
-- delta 1/1000000
-- max_groups 20
SELECT SearchEngineID, SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY 1, 2
ORDER BY c DESC, 1, 2 LIMIT 10;

-- # 16: the busiest users
-- no answer unit
SELECT UserID, COUNT(*) AS c FROM hits GROUP BY UserID ORDER BY c DESC LIMIT 10;
-- instead
SELECT n, COUNT(*) AS users FROM (SELECT UserID, COUNT(*) AS n FROM hits GROUP BY UserID) AS u WHERE n BETWEEN 15 AND 20 GROUP BY n;

-- # 17: the busiest pairs of user and phrase
-- no answer unit
SELECT UserID, SearchPhrase, COUNT(*) AS c FROM hits GROUP BY UserID, SearchPhrase ORDER BY c DESC LIMIT 10;

-- # 18: some pairs of user and phrase
-- no answer unit
SELECT UserID, SearchPhrase, COUNT(*) AS c FROM hits GROUP BY UserID, SearchPhrase LIMIT 10;

-- # 19: users, minutes and phrases
-- no answer unit
SELECT UserID, extract(minute FROM EventTime) AS m, SearchPhrase, COUNT(*) AS c FROM hits GROUP BY ALL ORDER BY c DESC
LIMIT 10;

-- # 20: the rows of one user
-- no answer rows
SELECT UserID FROM hits WHERE UserID = 4000000017;
-- instead
SELECT COUNT(*) FROM hits WHERE UserID = 4000000017;

-- # 21: pages whose address names a search engine
SELECT COUNT(*) AS n FROM hits WHERE URL LIKE '%google%';

-- # 22: a page of each phrase
-- no answer texts
-- delta 1/1000000
SELECT SearchPhrase, MIN(URL) AS url, COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> ''
GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;

-- # 23: a page and a title of each phrase
-- no answer texts
-- delta 1/1000000
SELECT SearchPhrase, MIN(URL) AS url, MIN(Title) AS title, COUNT(*) AS c, COUNT(DISTINCT UserID) AS u FROM hits
WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY 1 ORDER BY c DESC LIMIT 10;

-- # 24: the earliest rows
-- no answer rows
SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10;
-- instead
SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%';

-- # 25: phrases of the earliest rows
-- no answer rows
SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10;

-- # 26: phrases by the alphabet
-- no answer rows
SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10;

-- # 28: the length of addresses, by counter
SELECT CounterID, AVG(clamp(strlen(URL), 0, 100)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID
HAVING COUNT(*) > 100 ORDER BY l DESC LIMIT 25;

-- # 28 as it stands: the length of addresses without a limit
-- no answer limits
SELECT CounterID, AVG(STRLEN(URL)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID
HAVING COUNT(*) > 100 ORDER BY l DESC LIMIT 25;
-- instead
SELECT CounterID, AVG(clamp(STRLEN(URL), 0, 100)) AS l FROM hits WHERE URL <> '' GROUP BY CounterID;

-- # 29: referring sites by a pattern, found for a delta
-- delta 1/1000000
-- max_groups 20
SELECT REGEXP_REPLACE(Referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, AVG(clamp(strlen(Referer), 0, 100)) AS l,
  COUNT(*) AS c FROM hits WHERE Referer <> '' GROUP BY k HAVING COUNT(*) > 10 ORDER BY l DESC LIMIT 25;

-- # 30: many sums of one column
SELECT SUM(ResolutionWidth) AS a, SUM(ResolutionWidth + 1) AS b, SUM(ResolutionWidth + 2) AS c,
  SUM(ResolutionWidth + 3) AS d, SUM(ResolutionWidth + 4) AS e, SUM(ResolutionWidth + 89) AS z FROM hits;

-- # 31: engines and addresses of clients, found for a delta
-- delta 1/1000000
-- max_groups 20
SELECT SearchEngineID, CounterID, COUNT(*) AS c, SUM(IsRefresh) AS r, AVG(ResolutionWidth) AS w FROM hits
WHERE SearchPhrase <> '' GROUP BY SearchEngineID, CounterID ORDER BY c DESC, 1, 2 LIMIT 10;

-- # 32: single page views
-- no answer groups
SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh) AS r FROM hits GROUP BY WatchID, ClientIP ORDER BY c DESC LIMIT 10;

-- # 34: the most viewed pages, found for a delta
-- delta 1/1000000
-- max_groups 20
SELECT URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC, URL LIMIT 10;

-- # 35: a constant beside the pages
-- delta 1/1000000
-- max_groups 20
SELECT 1 AS one, URL, COUNT(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC, URL LIMIT 10;

-- # 36: addresses of clients and their neighbours, found for a delta
-- delta 1/1000000
SELECT RegionID, RegionID - 1 AS a, RegionID - 2 AS b, COUNT(*) AS c FROM hits GROUP BY RegionID, RegionID - 1, RegionID - 2
ORDER BY c DESC, RegionID LIMIT 10;

-- # 37: pages of one counter in July, found for a delta
-- delta 1/1000000
-- max_groups 20
SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31'
  AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> '' GROUP BY URL ORDER BY PageViews DESC, URL LIMIT 10;

-- # 39: pages behind the first few, found for a delta
-- delta 1/1000000
-- max_groups 20
SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate BETWEEN '2013-07-01' AND '2013-07-31'
  AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0 GROUP BY URL ORDER BY PageViews DESC, URL LIMIT 10 OFFSET 5;

-- # 40: sources, with a CASE for the address
-- delta 1/1000000
-- max_groups 20
SELECT TraficSourceID, SearchEngineID, AdvEngineID, CASE WHEN SearchEngineID = 0 AND AdvEngineID = 0 THEN 'from' ELSE '' END
  AS Src, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND TraficSourceID IN (-1, 2)
GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src ORDER BY PageViews DESC, 1, 2, 3 LIMIT 5;

-- # 41: days of some sources
SELECT EventDate, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND IsRefresh = 0 AND TraficSourceID IN (-1, 3)
GROUP BY EventDate ORDER BY PageViews DESC, EventDate LIMIT 10;

-- # 42: sizes of windows
SELECT WindowClientWidth // 100 AS w, WindowClientHeight // 100 AS h, COUNT(*) AS PageViews FROM hits
WHERE CounterID = 62 AND EventDate >= '2013-07-01' GROUP BY ALL HAVING COUNT(*) > 0 ORDER BY PageViews DESC, w, h LIMIT 6;

-- # 43: page views by the minute of two days
SELECT DATE_TRUNC('minute', EventTime) AS m, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62
  AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' GROUP BY DATE_TRUNC('minute', EventTime)
HAVING COUNT(*) > 0 ORDER BY DATE_TRUNC('minute', EventTime) LIMIT 10 OFFSET 30;

-- # hours: page views by the hour of the day
SELECT hour(EventTime) AS h, COUNT(*) AS n FROM hits GROUP BY h ORDER BY h;

-- # weekdays: page views of weekends and other days
SELECT CASE WHEN dayofweek(EventDate) IN (0, 6) THEN 'weekend' ELSE 'other' END AS d, COUNT(*) AS n FROM hits GROUP BY d
ORDER BY d;

-- # all days: every day of a calendar with its page views
SELECT d.day, COUNT(h.UserID) AS n FROM (SELECT CAST(unnest(generate_series(DATE '2013-07-01', DATE '2013-07-31',
  INTERVAL 1 DAY)) AS DATE) AS day) AS d LEFT JOIN hits AS h ON h.EventDate = d.day GROUP BY d.day ORDER BY d.day;

-- # sides: users by side of the country
SELECT r.side, COUNT(DISTINCT h.UserID) AS users, COUNT(*) AS views FROM hits AS h JOIN regions AS r ON h.RegionID = r.id
GROUP BY r.side ORDER BY r.side;

-- # per user: the mean number of page views and of days of a user
SELECT AVG(n) AS views, AVG(days) AS days FROM (SELECT UserID, COUNT(*) AS n, COUNT(DISTINCT EventDate) AS days FROM hits
  GROUP BY UserID) AS u;

-- # once: users who came on one day only
SELECT COUNT(*) AS n FROM (SELECT UserID FROM hits GROUP BY UserID HAVING COUNT(DISTINCT EventDate) = 1) AS u;

-- # came back: users of the first week who came back in the second
SELECT COUNT(DISTINCT UserID) AS n FROM hits WHERE EventDate < '2013-07-08'
  AND UserID IN (SELECT UserID FROM hits WHERE EventDate BETWEEN '2013-07-08' AND '2013-07-14');

-- # both weeks: the same by INTERSECT of users
SELECT COUNT(*) AS n FROM (SELECT UserID FROM hits WHERE EventDate < '2013-07-08' INTERSECT
  SELECT UserID FROM hits WHERE EventDate BETWEEN '2013-07-08' AND '2013-07-14') AS b;

-- # left: users of the first week who did not come back
SELECT COUNT(*) AS n FROM (SELECT UserID FROM hits WHERE EventDate < '2013-07-08' EXCEPT
  SELECT UserID FROM hits WHERE EventDate >= '2013-07-08') AS b;

-- # funnel: users who searched, followed a link and downloaded
SELECT COUNT(*) AS searched, COUNT_IF(l > 0) AS followed, COUNT_IF(l > 0 AND d > 0) AS downloaded
FROM (SELECT UserID, SUM(IsLink) AS l, SUM(IsDownload) AS d FROM hits WHERE SearchPhrase <> '' GROUP BY UserID) AS u;

-- # gaps: the mean time between two page views of a user
SELECT AVG(clamp(gap, 0, 100000)) AS minutes FROM (SELECT date_diff('minute', lag(EventTime) OVER (PARTITION BY UserID
  ORDER BY EventTime), EventTime) AS gap FROM hits) AS g;

-- # sessions: how many sessions there are, of half an hour without a view between
SELECT COUNT(*) AS sessions FROM (SELECT EventTime, lag(EventTime) OVER (PARTITION BY UserID ORDER BY EventTime) AS before
  FROM hits) AS g WHERE before IS NULL OR EventTime > before + INTERVAL 30 MINUTE;

-- # cohorts: users by the week of their first view and the week after it
SELECT w, later, COUNT(DISTINCT UserID) AS users FROM (SELECT UserID, EventDate,
    date_diff('day', DATE '2013-07-01', MIN(EventDate) OVER (PARTITION BY UserID)) // 7 AS w,
    date_diff('day', MIN(EventDate) OVER (PARTITION BY UserID), EventDate) // 7 AS later FROM hits) AS c
WHERE w BETWEEN 0 AND 1 AND later BETWEEN 0 AND 2 GROUP BY w, later ORDER BY w, later;

-- # shares: the share of each counter in all page views
SELECT CounterID, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent FROM hits GROUP BY CounterID ORDER BY 1;

-- # approximate: roughly how many users there are
SELECT APPROX_COUNT_DISTINCT(UserID) AS users FROM hits;
-- truth
SELECT COUNT(DISTINCT UserID) AS users FROM hits;

-- # pairs: how many pairs of user and region there are
SELECT COUNT(DISTINCT (UserID, RegionID)) AS n FROM hits;

-- # moving: a moving average over three days
SELECT EventDate, AVG(n) OVER (ORDER BY EventDate ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS smooth
FROM (SELECT EventDate, COUNT(*) AS n FROM hits GROUP BY EventDate) AS d ORDER BY EventDate;

-- # median width: the median and quartiles of the width of screens
-- within 2
SELECT QUANTILE_CONT(ResolutionWidth, [0.25, 0.5, 0.75]) AS q FROM hits;

-- # changed: page views of this week and the week before, side by side
SELECT a.d, a.n AS this_week, b.n AS week_before FROM (SELECT dayofweek(EventDate) AS d, COUNT(*) AS n FROM hits
  WHERE EventDate BETWEEN '2013-07-08' AND '2013-07-14' GROUP BY d) AS a
JOIN (SELECT dayofweek(EventDate) AS d, COUNT(*) AS n FROM hits WHERE EventDate BETWEEN '2013-07-01' AND '2013-07-07'
  GROUP BY d) AS b USING (d) ORDER BY a.d;
