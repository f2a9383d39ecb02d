-- # systems: events by a field of a struct
SELECT device.os AS os, COUNT(*) AS n FROM events GROUP BY device.os ORDER BY os;

-- # screens: the mean of a field in a field, in another spelling
SELECT (device).os AS os, AVG(events.device['screen'].width) AS width FROM events WHERE kind = 'buy' GROUP BY 1 ORDER BY 1;

-- # wide screens: users by a field, through a sub-query that hands the struct on
SELECT d.os, COUNT(DISTINCT user_id) AS users FROM (SELECT user_id, device AS d FROM events) AS e
WHERE e.d.screen.width >= 1500 GROUP BY d.os ORDER BY 1;

-- # prices: the mean of a number in a JSON text, in which some texts are broken
SELECT AVG(clamp(CAST(payload ->> 'price' AS DOUBLE), 0, 100)) AS price FROM events
-- truth
SELECT AVG(CAST(json_extract_string(payload, '$.price') AS DOUBLE)) AS price FROM events WHERE json_valid(payload);

-- # carts: events by a number within JSON
SELECT CAST(payload -> 'cart' ->> 'items' AS BIGINT) AS items, COUNT(*) AS n FROM events
WHERE CAST(payload -> 'cart' ->> 'items' AS BIGINT) IN (0, 1, 2, 3, 4, 5) GROUP BY items ORDER BY items
-- truth
SELECT CAST(json_extract_string(payload, '$.cart.items') AS BIGINT) AS items, COUNT(*) AS n FROM events
WHERE json_valid(payload) GROUP BY items ORDER BY items;

-- # origins: events by a text within JSON
SELECT json_extract_string(payload, '$.from') AS origin, COUNT(*) AS n FROM events
WHERE json_extract_string(payload, '$.from') IN ('mail', 'web') GROUP BY origin ORDER BY n DESC
-- truth
SELECT json_extract_string(payload, '$.from') AS origin, COUNT(*) AS n FROM events
WHERE json_valid(payload) AND json_extract_string(payload, '$.from') IN ('mail', 'web') GROUP BY origin ORDER BY n DESC;

-- # coupons: how many carts had a coupon, where JSON says null of most
SELECT COUNT(payload ->> '$.cart.coupon') AS coupons, COUNT(payload) AS carts FROM events
-- truth
SELECT COUNT(CASE WHEN json_valid(payload) THEN json_extract_string(payload, '$.cart.coupon') END) AS coupons,
  COUNT(payload) AS carts FROM events;

-- # moments: a date in a list in JSON
SELECT COUNT(*) AS n FROM events WHERE CAST(payload ->> '$.at[0]' AS DATE) >= DATE '2025-01-05'
-- truth
SELECT COUNT(*) AS n FROM events WHERE json_valid(payload) AND json_extract_string(payload, '$.at[0]') >= '2025-01-05';

-- # tags: how often each item of a list was there
SELECT tag, COUNT(*) AS n, COUNT(DISTINCT user_id) AS users FROM events, UNNEST(tags) AS t(tag) GROUP BY tag ORDER BY tag;

-- # moods: items of a list, joined with a public table
SELECT mood, COUNT(*) AS n FROM events CROSS JOIN UNNEST(tags) AS t(tag) JOIN labels ON labels.tag = t.tag GROUP BY mood ORDER BY mood;

-- # scores: sums and means of the items of a list, some of which are NULL
SELECT kind, SUM(score) AS total, AVG(score) AS mean, COUNT(score) AS known, COUNT(*) AS n
FROM (SELECT kind, UNNEST(scores) AS score FROM events) AS s GROUP BY kind ORDER BY kind;

-- # untagged: rows without an item, kept by a left join
SELECT COUNT(*) AS n, COUNT(tag) AS tags FROM events LEFT JOIN UNNEST(tags) AS t(tag) ON TRUE WHERE kind = 'open';

-- # how many tags: the mean length of a list by kind
SELECT kind, AVG(len(tags)) AS tags, COUNT(*) FILTER (WHERE list_has_any(tags, ['gift', 'toy'])) AS nice FROM events
GROUP BY kind ORDER BY kind;

-- # sales: the same asked of a list in three ways
SELECT COUNT(*) FILTER (WHERE 'sale' = ANY(tags)) AS some, COUNT(*) FILTER (WHERE list_contains(tags, 'sale')) AS found,
  COUNT(*) FILTER (WHERE tags[2] = 'sale') AS second FROM events;

-- # first scores: the best of the first two scores of a user
SELECT AVG(best) AS best FROM (SELECT user_id, MAX(score) AS best FROM events, UNNEST(scores[1:2]) AS s(score)
  GROUP BY user_id) AS u;

-- # both columns: two columns of a row as items of a list
SELECT AVG(x) AS x FROM events, UNNEST([device.screen.width, 600]) AS t(x);

-- # words: the first words of a text
SELECT w, COUNT(*) AS n FROM events, UNNEST(string_split(kind, 'e')[1:2]) AS t(w) WHERE w IN ('op', 'n', 's', 'arch')
GROUP BY w ORDER BY w;

-- # payloads: texts of single rows
-- no answer texts
SELECT string_agg(payload ->> 'from', ',') AS everything FROM events;

-- # all lists: the lists themselves, of which nothing says what they may be
-- no answer groups
SELECT tags, COUNT(*) AS n FROM events GROUP BY tags
-- instead
SELECT COUNT(*) AS n FROM events, UNNEST(tags) AS t(item);
