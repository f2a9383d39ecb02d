-- # quantities: the mean quantity of each item
SELECT item, AVG(quantity) AS average_quantity FROM professors GROUP BY item ORDER BY item;

-- # price on board: the same with its price in the text
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000) item, AVG(quantity) AS average_quantity
FROM professors GROUP BY item ORDER BY item;
-- truth
SELECT item, AVG(quantity) AS average_quantity FROM professors GROUP BY item ORDER BY item;

-- # groups of a unit: counted in few groups, with the limit in the text
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000, max_groups_contributed = 5) item, COUNT(*) AS n
FROM professors GROUP BY item ORDER BY item;
-- truth
SELECT item, COUNT(*) AS n FROM professors GROUP BY item ORDER BY item;

-- # sums: how much of each item was asked for
SELECT item, SUM(quantity) AS total, COUNT(*) AS requests, COUNT(DISTINCT id) AS professors FROM professors
GROUP BY item ORDER BY total DESC;

-- # one request: each professor counts with one request of each item
SELECT item, COUNT(*) AS n FROM (SELECT DISTINCT id, item FROM professors) AS p GROUP BY item ORDER BY item;

-- # percentiles: percentiles of quantities
-- within 1
SELECT item, QUANTILE_CONT(quantity, 0.25) AS low, QUANTILE_CONT(quantity, 0.75) AS high FROM professors GROUP BY item
ORDER BY item;

-- # approximate: an approximate quantile
-- within 1
SELECT APPROX_QUANTILE(quantity, 0.5) AS m FROM professors;
-- truth
SELECT QUANTILE_CONT(quantity, 0.5) AS m FROM professors;

-- # clamped: sums with limits in the question
SELECT SUM(clamp(quantity, 10, 50)) AS s, AVG(clamp(quantity, 10, 50)) AS a FROM professors;

-- # uses: requests and their price by use
SELECT use, COUNT(*) AS n, SUM(quantity * price) AS price FROM professors JOIN items USING (item) GROUP BY use ORDER BY use;

-- # many uses: which uses are asked for often
SELECT use FROM (SELECT use, COUNT(*) AS n FROM professors JOIN items USING (item) GROUP BY use) AS u WHERE n > 200 ORDER BY use;

-- # more than a pencil: professors who ask for more pencils than pens
SELECT COUNT(*) AS n FROM (SELECT id, SUM(CASE WHEN item = 'pencil' THEN quantity ELSE 0 END) AS a,
  SUM(CASE WHEN item = 'pen' THEN quantity ELSE 0 END) AS b FROM professors GROUP BY id) AS p WHERE a > b;

-- # marks: the mean mark by course
SELECT course, AVG(mark) AS mean, STDDEV(mark) AS spread FROM marks GROUP BY course ORDER BY mean DESC;

-- # passed: the share of passed courses, by course
SELECT course, 100 * COUNT(*) FILTER (WHERE mark >= 50) / COUNT(*) AS percent FROM marks GROUP BY course ORDER BY course;

-- # grades: marks as letters
SELECT CASE WHEN mark >= 80 THEN 'A' WHEN mark >= 60 THEN 'B' WHEN mark >= 50 THEN 'C' ELSE 'F' END AS grade, COUNT(*) AS n
FROM marks GROUP BY grade ORDER BY grade;

-- # subjects: the mean mark of each subject's students
SELECT subject, AVG(mark) AS mark FROM students JOIN marks ON students.student_id = marks.student_id GROUP BY subject ORDER BY 1;

-- # good students: students whose own mean is above sixty
SELECT subject, COUNT(*) AS n FROM (SELECT s.student_id, s.subject, AVG(mark) AS m FROM students AS s
  JOIN marks AS k ON s.student_id = k.student_id GROUP BY s.student_id, s.subject) AS g WHERE m > 60 GROUP BY subject ORDER BY 1;

-- # best course: students by the course of their best mark
SELECT course, COUNT(*) AS n FROM (SELECT student_id, course, row_number() OVER (PARTITION BY student_id
  ORDER BY mark DESC, course) AS r FROM marks) AS m WHERE r = 1 GROUP BY course ORDER BY course;

-- # hours: what an hour of work brings
SELECT REGR_SLOPE(mark, hours) AS slope, REGR_INTERCEPT(mark, hours) AS start, CORR(mark, hours) AS r FROM marks
WHERE hours IS NOT NULL;

-- # absent: marks of those who were absent
SELECT present, AVG(mark) AS mark, COUNT(*) AS n FROM marks GROUP BY present ORDER BY present;

-- # above: marks above the mean of their course
SELECT COUNT(*) AS n FROM marks AS m WHERE mark > (SELECT AVG(mark) FROM marks AS k WHERE k.course = m.course);

-- # years: students by year and subject, with totals of each
SELECT year, subject, COUNT(*) AS n FROM students GROUP BY CUBE (year, subject) ORDER BY ALL;

-- # cities: students by a field of their address
SELECT address.city AS city, COUNT(*) AS n FROM students WHERE address.city IN ('Rome', 'Oslo') GROUP BY city ORDER BY city;

-- # clubs: members of each club, from a list
-- delta 1/1000000
SELECT club, COUNT(*) AS n FROM (SELECT student_id, UNNEST(clubs) AS club FROM students) AS c GROUP BY club ORDER BY club;

-- # how many clubs: the mean number of clubs
SELECT AVG(clamp(len(clubs), 0, 5)) AS n FROM students;

-- # in a club: students of a club
SELECT COUNT(*) AS n FROM students WHERE list_contains(clubs, 'chess');

-- # age: the mean age in full years on a day
SELECT AVG(date_sub('year', born, DATE '2024-09-01')) AS age FROM students;

-- # birthdays: students by month and day of the week of birth
SELECT month(born) AS m, dayname(born) AS d, COUNT(*) AS n FROM students GROUP BY ALL ORDER BY n DESC, m, d LIMIT 3;

-- # two tables: how many students and how many marks there are
SELECT (SELECT COUNT(*) FROM students) AS students, (SELECT COUNT(*) FROM marks) AS marks;

-- # marks of students: the mean number of marks of a student, of students without marks too
SELECT AVG(n) AS n FROM (SELECT s.student_id, COUNT(k.mark) AS n FROM students AS s LEFT JOIN marks AS k
  ON s.student_id = k.student_id AND k.present GROUP BY s.student_id) AS x;

-- # rank: courses by their mean mark
SELECT course, RANK() OVER (ORDER BY AVG(mark) DESC) AS place FROM marks GROUP BY course ORDER BY place;

-- # list of students: who is in a class
-- no answer rows
SELECT student_id, year FROM students WHERE subject = 'law' AND year = 4;
-- instead
SELECT COUNT(*) FROM students WHERE subject = 'law' AND year = 4;

-- # best student: the student with the best mean
-- no answer unit
SELECT student_id, AVG(mark) AS m FROM marks GROUP BY student_id ORDER BY m DESC LIMIT 1;
-- instead
SELECT AVG(m) AS m FROM (SELECT student_id, AVG(mark) AS m FROM marks GROUP BY student_id) AS s;
