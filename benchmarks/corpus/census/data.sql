-- People as a census or a labour force survey describes them: each row is one person.
CREATE TABLE people AS SELECT i AS pid, CAST(CASE WHEN draw(i, 'a', 40) = 0 THEN 97 ELSE 18 + draw(i, 'age', 70) END AS INTEGER) AS age,
  pick(i, 'sex', ['female', 'male']) AS sex, CAST(draw(i, 'educ', 16) + 1 AS INTEGER) AS educ,
  pick(i, 'race', ['1', '2', '3', '4', '5', '6']) AS race,
  CASE WHEN draw(i, 'inc0', 25) = 0 THEN NULL ELSE CAST(draw(i, 'inc', 120000) AS DOUBLE) END AS income,
  draw(i, 'm', 2) = 1 AS married, CASE WHEN draw(i, 'w', 9) = 0 THEN NULL ELSE draw(i, 'w2', 2) = 1 END AS works,
  pick(i, 'st', ['AL', 'CA', 'NY', 'TX', 'WA']) AS state, CAST(draw(i, 'h', 80) AS INTEGER) AS hours,
  pick(i, 'job', ['clerk', 'cook', 'nurse', 'painter', 'teacher']) AS job, DATE '1950-01-01' + CAST(draw(i, 'b', 18000) AS INTEGER) AS born
FROM range(6000) AS t(i);
CREATE TABLE states AS SELECT * FROM (VALUES ('AL', 'Alabama', 'south', 5.1), ('CA', 'California', 'west', 39.0),
  ('NY', 'New York', 'east', 19.6), ('TX', 'Texas', 'south', 30.5), ('WA', 'Washington', 'west', 7.8)) AS t(code, name, part, millions);
CREATE TABLE levels AS SELECT CAST(i AS INTEGER) AS educ, CASE WHEN i < 9 THEN 'school' WHEN i < 13 THEN 'college' ELSE 'university' END
  AS level FROM range(1, 17) AS t(i);
