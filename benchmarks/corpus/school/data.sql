-- Professors and what they ask for, in the likeness of GoogleSQL's pages on differential privacy; and pupils' marks.
CREATE TABLE professors AS SELECT CAST(p AS BIGINT) AS id, pick(p * 9 + n, 'i', ['pencil', 'pen', 'scissors', 'ruler', 'book']) AS item,
  CAST(draw(p * 9 + n, 'q', 90) + 5 AS INTEGER) AS quantity FROM range(400) AS t(p), range(4) AS u(n) WHERE n <= draw(p, 'many', 4);
CREATE TABLE students AS SELECT CAST(i AS BIGINT) AS student_id, CAST(draw(i, 'y', 4) + 1 AS INTEGER) AS year,
  pick(i, 's', ['art', 'law', 'medicine']) AS subject, DATE '2000-01-01' + CAST(draw(i, 'b', 2000) AS INTEGER) AS born,
  {'city': pick(i, 'c', ['Rome', 'Oslo']), 'zip': draw(i, 'z', 100)} AS address,
  [pick(i, 'l1', ['chess', 'choir', 'rowing']), pick(i, 'l2', ['debate', 'drama'])] AS clubs
FROM range(1000) AS t(i);
CREATE TABLE marks AS SELECT CAST(s AS BIGINT) AS student_id, ['algebra', 'biology', 'chemistry', 'drawing', 'ethics', 'french'][n + 1]
    AS course, CAST(draw(s * 8 + n, 'm', 101) AS INTEGER) AS mark, CASE WHEN draw(s * 8 + n, 'pn', 40) > 0 THEN draw(s * 8 + n, 'p', 10) > 0 END AS present,
  CASE WHEN draw(s * 8 + n, 'nul', 12) = 0 THEN NULL ELSE CAST(draw(s * 8 + n, 'h', 400) AS DOUBLE) / 10 END AS hours
FROM range(1000) AS t(s), range(6) AS u(n);
CREATE TABLE items AS SELECT * FROM (VALUES ('pencil', 'write', 0.5), ('pen', 'write', 1.5), ('scissors', 'cut', 4.0), ('ruler', 'measure', 2.0),
  ('book', 'read', 12.0)) AS t(item, use, price);
