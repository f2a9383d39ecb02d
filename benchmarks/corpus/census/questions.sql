-- # count: how many people there are
SELECT COUNT(*) AS n FROM people;

-- # mean age: the mean age
SELECT AVG(age) AS age FROM people;

-- # income: the total and the mean income, and of how many it is known
SELECT SUM(income) AS total, AVG(income) AS mean, COUNT(income) AS known FROM people;

-- # by sex: the mean income by sex
SELECT sex, AVG(income) AS income, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex;

-- # by both: people by sex and whether they are married
SELECT sex, married, COUNT(*) AS n FROM people GROUP BY sex, married ORDER BY sex, married;

-- # histogram: how many people have which education
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY educ;

-- # chosen levels: two levels of education only
SELECT educ, COUNT(*) AS n FROM people WHERE educ IN (2, 3) GROUP BY educ ORDER BY educ;

-- # of groups: the mean of the counts of chosen groups
SELECT AVG(n) AS n, COUNT(*) AS groups FROM (SELECT educ, COUNT(*) AS n FROM people WHERE educ IN (2, 3, 5) GROUP BY educ) AS e;

-- # decades: people by decade of age
SELECT age // 10 * 10 AS decade, COUNT(*) AS n, AVG(income) AS income FROM people GROUP BY decade ORDER BY decade;

-- # classes: people by class of age
SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS class, COUNT(*) AS n FROM people
GROUP BY class ORDER BY n DESC;

-- # variance: how incomes are spread
SELECT VARIANCE(income) AS v, STDDEV(income) AS s, VAR_POP(income) AS vp, STDDEV_POP(income) AS sp FROM people;

-- # quantiles: the quartiles of income
-- within 30
SELECT QUANTILE_CONT(income, 0.25) AS a, MEDIAN(income) AS b, QUANTILE_CONT(income, 0.75) AS c FROM people;

-- # quantile list: several quantiles as a list
-- within 30
SELECT QUANTILE_CONT(income, [0.1, 0.5, 0.9]) AS q FROM people;

-- # within group: a percentile in the words of the standard
-- within 30
SELECT sex, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY income) AS q FROM people GROUP BY sex ORDER BY sex;

-- # median by group: the median age by education
SELECT educ, MEDIAN(age) AS m FROM people WHERE educ < 5 GROUP BY educ ORDER BY educ;
-- truth
SELECT educ, CAST(quantile_disc(age, 0.5) AS DOUBLE) AS m FROM people WHERE educ < 5 GROUP BY educ ORDER BY educ;

-- # extremes: the lowest and the highest age
SELECT MIN(age) AS low, MAX(age) AS high FROM people;
-- truth
SELECT quantile_disc(age, 0.01) AS low, quantile_disc(age, 0.99) AS high FROM people;

-- # correlation: of education and income
SELECT CORR(educ, income) AS r, COVAR_SAMP(educ, income) AS c, REGR_SLOPE(income, educ) AS s,
  REGR_INTERCEPT(income, educ) AS i FROM people;

-- # moments: skewness and kurtosis of age
SELECT SKEWNESS(age) AS s, KURTOSIS(age) AS k FROM people;

-- # mode: the most frequent race
SELECT MODE(race) AS r FROM people;

-- # top: the most frequent race, by counting
SELECT race, COUNT(*) AS n FROM people GROUP BY race ORDER BY n DESC LIMIT 1;

-- # list histogram: the counts of ages as a map
SELECT HISTOGRAM(educ) AS h FROM people;

-- # working: people by whether they work, where that is known
SELECT works, COUNT(*) AS n FROM people WHERE works IS NOT NULL GROUP BY works ORDER BY works;

-- # working or not known: people by whether they work, the unknown among them
SELECT works, COUNT(*) AS n FROM people GROUP BY works ORDER BY works;

-- # known: the unknown as a group of its own
SELECT CASE WHEN works THEN 'yes' WHEN NOT works THEN 'no' ELSE 'unknown' END AS w, COUNT(*) AS n FROM people GROUP BY w ORDER BY w;

-- # share: the share of married people, and of those who work
SELECT AVG(CASE WHEN married THEN 1.0 ELSE 0.0 END) AS m, AVG(CAST(works AS INTEGER)) AS w FROM people;

-- # text as number: a number written as a text
SELECT COUNT(*) AS n FROM people WHERE educ = '8';

-- # truth as text: a truth written as a text
SELECT COUNT(*) AS n FROM people WHERE married = 'true';

-- # states: people by the name of their state
SELECT s.name, COUNT(*) AS n, COUNT(*) / s.millions AS per_million FROM people AS p JOIN states AS s ON p.state = s.code
GROUP BY s.name, s.millions ORDER BY s.name;

-- # parts: people and their income by part of the country
SELECT part, COUNT(*) AS n, SUM(income) AS income FROM people, states WHERE state = code GROUP BY part ORDER BY part;

-- # all states: every state, also those without people above an age
SELECT s.code, COUNT(p.pid) AS n FROM states AS s LEFT JOIN people AS p ON p.state = s.code AND p.age > 85 GROUP BY s.code
ORDER BY s.code;

-- # right join: the same the other way round
SELECT s.code, COUNT(p.age) AS n FROM people AS p RIGHT JOIN states AS s ON p.state = s.code GROUP BY s.code ORDER BY 1;

-- # full join: the same, keeping what has no partner
SELECT s.code, COUNT(p.age) AS n FROM people AS p FULL JOIN states AS s ON p.state = s.code GROUP BY s.code ORDER BY 1;

-- # natural join: columns of one name
SELECT level, COUNT(*) AS n FROM people NATURAL JOIN levels GROUP BY level ORDER BY level;

-- # using: the same with USING
SELECT level, AVG(income) AS income FROM people JOIN levels USING (educ) GROUP BY level ORDER BY level;

-- # parentheses: a join in parentheses
SELECT level, COUNT(*) AS n FROM (people JOIN levels ON people.educ = levels.educ) GROUP BY level ORDER BY level;

-- # schema: a table with its schema
SELECT COUNT(*) AS n FROM main.people;

-- # names: columns with the name of their table
SELECT people.sex, AVG(people.age) AS age FROM people WHERE people.age > 30 GROUP BY people.sex ORDER BY people.sex;

-- # richer than the mean: people above the mean income
SELECT COUNT(*) AS n FROM people WHERE income > (SELECT AVG(income) FROM people);

-- # poverty: people below half the median income
SELECT COUNT(*) AS n FROM people WHERE income < 0.5 * (SELECT MEDIAN(income) FROM people);
-- truth
SELECT COUNT(*) AS n FROM people WHERE income < 0.5 * (SELECT quantile_disc(income, 0.5) FROM people);

-- # hours: people by class of hours, with bins of equal width
SELECT width_bucket(hours, 0, 60, 4) AS bin, COUNT(*) AS n FROM people GROUP BY bin ORDER BY bin;
-- truth
SELECT CASE WHEN hours >= 60 THEN 5 ELSE CAST(hours // 15 AS BIGINT) + 1 END AS bin, COUNT(*) AS n FROM people
GROUP BY bin ORDER BY bin;

-- # floor: incomes in steps of twenty thousand
SELECT CAST(floor(income / 20000) AS BIGINT) AS step, COUNT(*) AS n FROM people WHERE income IS NOT NULL GROUP BY step
ORDER BY step;

-- # having: states with many people, by name
SELECT state, COUNT(*) AS n FROM people GROUP BY state HAVING COUNT(*) > 1150 ORDER BY n DESC;

-- # distinct keys: which states there are
SELECT DISTINCT state FROM people ORDER BY state;

-- # distinct count: how many states and races there are
SELECT COUNT(DISTINCT state) AS s, COUNT(DISTINCT race) AS r FROM people;

-- # sum distinct: the sum of the different ages
SELECT SUM(DISTINCT age) AS s FROM people;

-- # jobs: people by job, which nobody declared
-- no answer groups
SELECT job, COUNT(*) AS n FROM people GROUP BY job;
-- instead
SELECT CASE WHEN job = 'cook' THEN 'cook' ELSE 'other' END AS job, COUNT(*) AS n FROM people GROUP BY 1;

-- # found jobs: the same, found for a delta
-- delta 1/1000000
SELECT job, COUNT(*) AS n FROM people GROUP BY job ORDER BY n DESC;

-- # listed jobs: two jobs, named in the question
SELECT job, COUNT(*) AS n FROM people WHERE job IN ('cook', 'nurse') GROUP BY job ORDER BY job;

-- # other jobs: two jobs and the others
SELECT CASE WHEN job IN ('cook', 'nurse') THEN job ELSE 'other' END AS j, COUNT(*) AS n FROM people GROUP BY j ORDER BY j;

-- # born: people by year of birth
SELECT year(born) AS y, COUNT(*) AS n FROM people WHERE born >= DATE '1990-01-01' GROUP BY y ORDER BY y;

-- # months: people by month of birth
SELECT monthname(born) AS m, COUNT(*) AS n FROM people GROUP BY m ORDER BY n DESC, m;

-- # median birth: the median date of birth
-- within 12
SELECT MEDIAN(epoch(born) / 86400) AS d FROM people;

-- # dates: the median date of birth as a date
-- within 5
SELECT QUANTILE_DISC(born, 0.5) AS d FROM people;

-- # pivot: people by state, with a column for each sex
PIVOT people ON sex USING COUNT(*) GROUP BY state ORDER BY state;

-- # pivot of counts: the same over released counts
PIVOT (SELECT state, sex, COUNT(*) AS n FROM people GROUP BY state, sex) ON sex IN ('female', 'male') USING SUM(n)
GROUP BY state ORDER BY state;

-- # unpivot: two averages below one another
UNPIVOT (SELECT AVG(age) AS age, AVG(hours) AS hours FROM people) ON age, hours INTO NAME what VALUE mean;

-- # arg max: the state with the highest mean income
SELECT arg_max(state, m) AS state FROM (SELECT state, AVG(income) AS m FROM people GROUP BY state) AS s;

-- # arg max of rows: the job of the richest person
-- no answer rows
SELECT arg_max(job, income) AS job FROM people;

-- # jobs as a list: all jobs in one text
-- no answer texts
SELECT string_agg(job, ', ') AS jobs FROM people;
-- instead
SELECT COUNT(job) AS jobs FROM people;

-- # rows: some people
-- no answer rows
SELECT age, income FROM people LIMIT 5;
-- instead
SELECT COUNT(*) FROM people LIMIT 5;

-- # sample: the mean age of a sample of rows
-- no answer chance
SELECT AVG(age) AS age FROM people USING SAMPLE 10%;
-- instead
SELECT AVG(age) AS age FROM people;

-- # random: people chosen by chance
-- no answer chance
SELECT COUNT(*) AS n FROM people WHERE random() < 0.5;
-- instead
SELECT COUNT(*) AS n FROM people;

-- # this year: people by age as of today
-- no answer chance
SELECT COUNT(*) AS n FROM people WHERE born > current_date - INTERVAL 40 YEAR;
-- instead
SELECT COUNT(*) AS n FROM people WHERE born > DATE '2024-06-30' - INTERVAL 40 YEAR;

-- # rank: people by the rank of their income
-- no answer order
SELECT COUNT(*) AS n FROM (SELECT sex, rank() OVER (ORDER BY income DESC) AS r FROM people) AS x WHERE r <= 100 AND sex = 'female';

-- # quartile: the mean age of the poorest quarter
-- no answer order
SELECT AVG(age) AS age FROM (SELECT age, ntile(4) OVER (ORDER BY income) AS q FROM people) AS x WHERE q = 1;
-- instead
SELECT AVG(age) AS age FROM people WHERE income <= 25000;

-- # neighbours: pairs of people of one job
-- no answer pairs
SELECT COUNT(*) AS n FROM people AS a JOIN people AS b ON a.job = b.job;

-- # no limit: the mean of a number that has none
-- no answer limits
SELECT AVG(length(job)) AS l FROM people;
-- instead
SELECT AVG(clamp(length(job), 0, 100)) AS l FROM people;

-- # limited: the same with a limit
SELECT AVG(clamp(length(job), 0, 10)) AS l FROM people;

-- # weighted: the mean age, weighted by hours
SELECT SUM(age * hours) / SUM(hours) AS age FROM people;

-- # ratio: how many men there are for each woman
SELECT COUNT(*) FILTER (WHERE sex = 'male') / COUNT(*) FILTER (WHERE sex = 'female') AS r FROM people;

-- # gap: the difference of mean incomes
SELECT AVG(income) FILTER (WHERE sex = 'male') - AVG(income) FILTER (WHERE sex = 'female') AS gap FROM people;

-- # below: a count above the difference of two others
WITH a AS (SELECT COUNT(*) AS n FROM people WHERE age < 30), b AS (SELECT COUNT(*) AS n FROM people WHERE age >= 60)
SELECT a.n AS young, b.n AS old, b.n - a.n AS more FROM a, b;

-- # sets: several groupings at once
SELECT sex, state, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((sex), (state), ()) ORDER BY ALL;

-- # constant: a constant as a key
SELECT 'all' AS what, COUNT(*) AS n FROM people GROUP BY 'all';

-- # doubled: two columns of one name
SELECT sex AS k, COUNT(*) AS n, COUNT(income) AS n FROM people GROUP BY k ORDER BY k;
-- truth
SELECT sex AS k, COUNT(*) AS n, COUNT(income) AS n_1 FROM people GROUP BY k ORDER BY k;

-- # alias: an alias that hides a column, in HAVING
SELECT state, AVG(age) AS age FROM people GROUP BY state HAVING age > 50 ORDER BY state;

-- # patterns: jobs that fit a pattern
SELECT COUNT(*) AS n FROM people WHERE regexp_matches(job, '^(c|t)');

-- # similar: the same in the words of the standard
SELECT COUNT(*) AS n FROM people WHERE job SIMILAR TO '(cook|nurse)';

-- # replaced: people by a part of their job, found for a delta
-- delta 1/1000000
SELECT regexp_extract(job, '^[a-z]') AS first, COUNT(*) AS n FROM people GROUP BY first ORDER BY first;

-- # starts: the first letter of jobs, found for a delta
-- delta 1/1000000
SELECT upper(left(job, 1)) AS first, COUNT(*) AS n FROM people GROUP BY first ORDER BY n DESC, first;

-- # ages: a series of public ages, each with its people
SELECT g.age, COUNT(p.age) AS n FROM generate_series(20, 25) AS g(age) LEFT JOIN people AS p ON p.age = g.age GROUP BY g.age
ORDER BY g.age;

-- # deciles: all deciles of hours
SELECT QUANTILE_DISC(hours, 0.1) AS a, QUANTILE_DISC(hours, 0.5) AS b, QUANTILE_DISC(hours, 0.9) AS c FROM people;

-- # where false: a condition that nobody can satisfy
SELECT COUNT(*) AS n FROM people WHERE age > 10 AND 1 = 0;

-- # union: men and women, one below the other
SELECT 'women' AS who, AVG(age) AS age FROM people WHERE sex = 'female' UNION ALL
SELECT 'men', AVG(age) FROM people WHERE sex = 'male' ORDER BY who;

-- # parameters: a placeholder
-- no answer failing
SELECT COUNT(*) AS n FROM people WHERE age > $1;
-- instead
SELECT COUNT(*) AS n FROM people WHERE age > 65;

-- # update: changing the data
-- no answer outside
UPDATE people SET income = 0;

-- # copy: writing the data into a file
-- no answer outside
COPY people TO 'people.csv';

-- # settings: reading a setting of the machine
-- no answer outside
SELECT COUNT(*) AS n, current_setting('home_directory') AS h FROM people;
