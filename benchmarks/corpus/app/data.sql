-- What the users of an application did: texts of JSON, some of them broken, lists, and structs within structs.
CREATE TABLE events AS SELECT CAST(u AS BIGINT) AS user_id, DATE '2025-01-01' + CAST(draw(u * 9 + e, 'd', 300) AS INTEGER) AS day,
  pick(u * 9 + e, 'k', ['open', 'buy', 'search']) AS kind,
  CASE draw(u * 9 + e, 'bad', 20) WHEN 0 THEN '{"price": 5' WHEN 1 THEN '' WHEN 2 THEN NULL ELSE
    '{"price": ' || draw(u * 9 + e, 'p', 400) / 4 || ', "cart": {"items": ' || draw(u * 9 + e, 'i', 6) ||
    ', "coupon": ' || CASE WHEN draw(u * 9 + e, 'c', 3) = 0 THEN '"SPRING"' ELSE 'null' END || '}, "from": "' ||
    pick(u * 9 + e, 'f', ['mail', 'web', 'app']) || '", "at": ["2025-01-0' || draw(u * 9 + e, 'at', 9) + 1 || '"]}' END AS payload,
  CASE WHEN draw(u * 9 + e, 't', 10) > 0 THEN ['new', 'sale', 'gift', 'toy'][1:draw(u * 9 + e, 'ts', 5)] END AS tags,
  [draw(u * 9 + e, 's1', 11), draw(u * 9 + e, 's2', 11), NULL][1:draw(u * 9 + e, 'ss', 4)] AS scores,
  {'os': pick(u, 'os', ['linux', 'mac', 'windows']), 'screen': {'width': 800 + 100 * draw(u, 'w', 12), 'height': 600}} AS device
FROM range(600) AS t(u), range(5) AS x(e) WHERE e <= draw(u, 'many', 5);
CREATE TABLE labels AS SELECT * FROM (VALUES ('new', 'fresh'), ('sale', 'cheap'), ('gift', 'cheap'), ('toy', 'fresh')) AS t(tag, mood);
