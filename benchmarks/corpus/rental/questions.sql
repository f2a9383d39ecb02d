-- # facilities: facilities that cost members something, all public
SELECT facid, name, membercost FROM facilities WHERE membercost > 0 AND membercost < outlay / 50.0 ORDER BY facid;

-- # labels: facilities as cheap or dear, all public
SELECT name, CASE WHEN outlay > 1000 THEN 'expensive' ELSE 'cheap' END AS cost FROM facilities ORDER BY name;

-- # members: members who joined since a day
SELECT COUNT(*) AS n FROM members WHERE joindate >= '2012-09-01';

-- # names: members who joined since a day, by name
-- no answer rows
SELECT memid, surname, joindate FROM members WHERE joindate >= '2012-09-01';
-- instead
SELECT COUNT(*) FROM members WHERE joindate >= '2012-09-01';

-- # surnames: the first surnames
-- no answer rows
SELECT DISTINCT surname FROM members ORDER BY surname LIMIT 10;

-- # newest: who joined last
-- no answer rows
SELECT firstname, surname, joindate FROM members WHERE joindate = (SELECT MAX(joindate) FROM members);

-- # bookings of courts: bookings of tennis courts on a day
SELECT f.name, COUNT(*) AS n FROM facilities f INNER JOIN bookings b ON f.facid = b.facid
WHERE f.name IN ('Tennis Court 2', 'Tennis Court 1') AND b.starttime >= '2012-09-21' AND b.starttime < '2012-09-22'
GROUP BY f.name ORDER BY f.name;

-- # recommended: members who were recommended, and who recommended nobody
SELECT COUNT(*) AS recommended FROM members WHERE recommendedby IS NOT NULL;

-- # recommenders: members who recommended another
-- no answer pairs
SELECT COUNT(DISTINCT r.memid) AS n FROM members AS m JOIN members AS r ON r.memid = m.recommendedby;

-- # slots: slots booked of each facility
SELECT facid, SUM(slots) AS "Total Slots" FROM bookings GROUP BY facid ORDER BY facid;

-- # slots of a month: slots of each facility in September
SELECT facid, SUM(slots) AS total FROM bookings WHERE starttime >= '2012-09-01' AND starttime < '2012-10-01'
GROUP BY facid ORDER BY SUM(slots) DESC, facid;

-- # slots by month: slots of each facility and month
SELECT facid, extract(month FROM starttime) AS month, SUM(slots) AS total FROM bookings
WHERE extract(year FROM starttime) = 2012 GROUP BY facid, month ORDER BY facid, month;

-- # with totals: the same with totals
SELECT facid, extract(month FROM starttime) AS month, SUM(slots) AS slots FROM bookings
WHERE starttime >= '2012-01-01' AND starttime < '2013-01-01' GROUP BY ROLLUP (facid, month) ORDER BY facid, month;

-- # many slots: facilities with many slots
SELECT facid, SUM(slots) AS total FROM bookings GROUP BY facid HAVING SUM(slots) > 560 ORDER BY facid;

-- # revenue: what members paid for each facility
SELECT name, SUM(slots * membercost) AS revenue FROM bookings INNER JOIN facilities USING (facid) GROUP BY name ORDER BY revenue, name;

-- # low revenue: facilities that bring little
SELECT name, revenue FROM (SELECT f.name, SUM(b.slots * f.guestcost) AS revenue FROM bookings b JOIN facilities f
  ON b.facid = f.facid GROUP BY f.name) AS agg WHERE revenue < 20000 ORDER BY revenue;

-- # most booked: the facility with the most slots
WITH sum AS (SELECT facid, SUM(slots) AS total FROM bookings GROUP BY facid)
SELECT facid, total FROM sum WHERE total = (SELECT MAX(total) FROM sum);

-- # most booked by rank: the same by rank
SELECT facid, total FROM (SELECT facid, SUM(slots) AS total, rank() OVER (ORDER BY SUM(slots) DESC) AS rank FROM bookings
  GROUP BY facid) AS ranked WHERE rank = 1;

-- # hours: hours booked of each facility
SELECT f.facid, f.name, SUM(b.slots) / 2.0 AS hours FROM bookings b JOIN facilities f ON f.facid = b.facid
GROUP BY f.facid, f.name ORDER BY f.facid;

-- # classes: facilities in three classes of revenue
SELECT name, CASE ntile(3) OVER (ORDER BY SUM(slots * guestcost) DESC, name) WHEN 1 THEN 'high' WHEN 2 THEN 'average' ELSE 'low' END AS class
FROM bookings JOIN facilities USING (facid) GROUP BY name ORDER BY class, name;

-- # payback: how many months it takes until a facility has paid its outlay
SELECT f.name, f.outlay / (SUM(b.slots * f.guestcost) / 3) AS months FROM bookings AS b JOIN facilities AS f ON b.facid = f.facid
GROUP BY f.facid, f.name, f.outlay ORDER BY f.name;

-- # rolling: a rolling mean of slots over fifteen days
SELECT day, AVG(s) OVER (ORDER BY day ROWS BETWEEN 14 PRECEDING AND CURRENT ROW) AS mean FROM (SELECT CAST(starttime AS DATE) AS day,
  SUM(slots) AS s FROM bookings GROUP BY day) AS d ORDER BY day;

-- # calendar: every day of August with its bookings
SELECT g.day, COUNT(b.bookid) AS n FROM generate_series(TIMESTAMP '2012-08-01', TIMESTAMP '2012-08-31', INTERVAL 1 DAY) AS g(day)
LEFT JOIN bookings AS b ON date_trunc('day', b.starttime) = g.day GROUP BY g.day ORDER BY g.day;

-- # end of a booking: bookings by the hour at which they end
SELECT hour(starttime + INTERVAL 30 MINUTE * slots) AS h, COUNT(*) AS n FROM bookings GROUP BY h ORDER BY h;
-- truth
SELECT g AS h, COUNT(n) AS n FROM range(24) AS t(g) LEFT JOIN (SELECT hour(starttime + INTERVAL 30 MINUTE * slots) AS h, 1 AS n FROM bookings)
ON h = g GROUP BY g ORDER BY g;

-- # occupied: how full each facility was, by month, in percent
SELECT name, month, round(100 * slots / (25 * 31), 1) AS percent FROM (SELECT name, date_trunc('month', starttime) AS month, SUM(slots) AS slots
  FROM bookings JOIN facilities USING (facid) GROUP BY ALL) AS x WHERE month = TIMESTAMP '2012-08-01' ORDER BY name;

-- # tennis players: members who used a tennis court
SELECT COUNT(DISTINCT b.memid) AS n FROM bookings AS b JOIN facilities AS f ON b.facid = f.facid WHERE f.name LIKE 'Tennis%';

-- # not tennis: members who booked and never used a tennis court
SELECT COUNT(*) AS n FROM (SELECT memid FROM bookings GROUP BY memid HAVING COUNT(*) FILTER (WHERE facid IN (0, 1)) = 0) AS m;

-- # payments: what was paid, by month and way of paying
SELECT date_trunc('month', paid) AS m, how, SUM(amount) AS total, AVG(amount) AS mean FROM payments GROUP BY ALL ORDER BY ALL;

-- # best payers: members who paid more than others
-- no answer unit
SELECT memid, SUM(amount) AS total FROM payments GROUP BY memid HAVING SUM(amount) > 50 ORDER BY total DESC;
-- instead
SELECT SUM(amount) AS total FROM payments;

-- # large payers: how many members paid more than forty in all
SELECT COUNT(*) AS n FROM (SELECT memid, SUM(amount) AS total FROM payments GROUP BY memid) AS p WHERE total > 40;

-- # two facts: bookings and payments of the same members, each added up before they are joined
SELECT COUNT(*) AS members, AVG(b) AS slots, AVG(p) AS paid FROM (SELECT memid, SUM(slots) AS b FROM bookings GROUP BY memid) AS x
JOIN (SELECT memid, SUM(amount) AS p FROM payments GROUP BY memid) AS y ON x.memid = y.memid;

-- # joined facts: the number of pairs of bookings and payments of one member
SELECT COUNT(*) AS pairs, AVG(amount) AS amount FROM bookings AS b JOIN payments AS p ON b.memid = p.memid;

-- # zip codes: payments of members by zip code
SELECT zipcode, SUM(amount) AS total FROM members JOIN payments USING (memid) GROUP BY zipcode ORDER BY total DESC, zipcode LIMIT 5;

-- # staff: salaries by department
-- within 50
SELECT depname, AVG(salary) AS mean, MIN(salary) AS low, MAX(salary) AS high FROM staff GROUP BY depname ORDER BY depname;
-- truth
SELECT depname, AVG(salary) AS mean, quantile_disc(salary, 0.01) AS low, quantile_disc(salary, 0.99) AS high FROM staff GROUP BY depname ORDER BY depname;

-- # compared: the mean salary of a department beside that of all
SELECT depname, AVG(salary) AS own, AVG(AVG(salary)) OVER () AS all FROM staff GROUP BY depname ORDER BY depname;

-- # ranks: the two best paid of each department
-- no answer order
SELECT depname, COUNT(*) AS n FROM (SELECT depname, rank() OVER (PARTITION BY depname ORDER BY salary DESC) AS pos FROM staff) AS ss
WHERE pos < 3 GROUP BY depname;

-- # running: the running sum of salaries of single people
-- no answer rows
SELECT salary, SUM(salary) OVER (ORDER BY salary) FROM staff;

-- # hired: people hired by year, and in all so far
SELECT y, n, SUM(n) OVER (ORDER BY y) AS so_far FROM (SELECT year(enrolled) AS y, COUNT(*) AS n FROM staff GROUP BY y) AS h ORDER BY y;

-- # recursive: a recursive count beside people hired in each year
WITH RECURSIVE years(y) AS (SELECT 2008 UNION ALL SELECT y + 1 FROM years WHERE y < 2011)
SELECT years.y, COUNT(*) AS n FROM years JOIN staff ON year(staff.enrolled) = years.y GROUP BY years.y ORDER BY years.y;

-- # insert: a new facility
-- no answer outside
INSERT INTO facilities VALUES (9, 'Spa', 20, 30, 100000);
