-- A club with facilities and a shop that rents films, in the likeness of exercises for PostgreSQL.
CREATE TABLE members AS SELECT CAST(i AS BIGINT) AS memid, 'Surname' || draw(i, 's', 300) AS surname, 'First' || i AS firstname,
  CAST(10000 + draw(i, 'z', 30) AS INTEGER) AS zipcode, CASE WHEN draw(i, 'r', 3) = 0 THEN draw(i, 'by', 500) END AS recommendedby,
  TIMESTAMP '2012-07-01' + to_seconds(draw(i, 'j', 90 * 86400)) AS joindate FROM range(500) AS t(i);
CREATE TABLE facilities AS SELECT * FROM (VALUES (0, 'Tennis Court 1', 5.0, 25.0, 10000), (1, 'Tennis Court 2', 5.0, 25.0, 8000),
  (2, 'Badminton Court', 0.0, 15.5, 4000), (3, 'Table Tennis', 0.0, 5.0, 320), (4, 'Massage Room 1', 35.0, 80.0, 4000),
  (5, 'Massage Room 2', 35.0, 80.0, 4000), (6, 'Squash Court', 3.5, 17.5, 5000), (7, 'Snooker Table', 0.0, 5.0, 450),
  (8, 'Pool Table', 0.0, 5.0, 400)) AS t(facid, name, membercost, guestcost, outlay);
CREATE TABLE bookings AS SELECT m * 30 + n AS bookid, CAST(draw(m * 30 + n, 'f', 9) AS INTEGER) AS facid, CAST(m AS BIGINT) AS memid,
  TIMESTAMP '2012-07-01 08:00:00' + to_days(CAST(draw(m * 30 + n, 'd', 92) AS INTEGER)) + to_minutes(30 * draw(m * 30 + n, 't', 24)) AS starttime,
  CAST(draw(m * 30 + n, 'sl', 3) + 1 AS INTEGER) AS slots FROM range(500) AS t(m), range(10) AS u(n) WHERE n < draw(m, 'many', 11);
CREATE TABLE payments AS SELECT CAST(m AS BIGINT) AS memid, CAST(draw(m * 9 + n, 'a', 1500) / 100 AS DECIMAL(8, 2)) AS amount,
  TIMESTAMP '2012-07-01' + to_seconds(draw(m * 9 + n, 'p', 90 * 86400)) AS paid, pick(m * 9 + n, 'how', ['card', 'cash']) AS how
FROM range(500) AS t(m), range(8) AS u(n) WHERE n < draw(m, 'pays', 9);
CREATE TABLE staff AS SELECT i AS empno, pick(i, 'd', ['develop', 'personnel', 'sales']) AS depname,
  CAST(3000 + draw(i, 's', 4000) AS INTEGER) AS salary, DATE '2006-01-01' + CAST(draw(i, 'e', 4000) AS INTEGER) AS enrolled
FROM range(900) AS t(i);
