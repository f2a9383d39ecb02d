-- # 6a: people in films of a keyword, counted
SELECT k.keyword AS movie_keyword, COUNT(*) AS n, COUNT(DISTINCT ci.person_id) AS people FROM cast_info AS ci, keyword AS k, movie_keyword AS mk, person AS n, title AS t WHERE k.keyword IN ('superhero', 'sequel') AND t.production_year > 2000 AND k.id = mk.keyword_id AND t.id = mk.movie_id AND t.id = ci.movie_id AND ci.movie_id = mk.movie_id AND n.id = ci.person_id GROUP BY k.keyword ORDER BY 1;

-- # 8a: voices of women in films of a country
SELECT COUNT(*) AS n FROM cast_info AS ci, company_name AS cn, movie_companies AS mc, person AS n1, role_type AS rt, title AS t WHERE ci.note = '(voice)' AND cn.country_code = '[us]' AND mc.note LIKE '%(USA)%' AND n1.gender = 'f' AND rt.role = 'actress' AND n1.id = ci.person_id AND ci.movie_id = t.id AND t.id = mc.movie_id AND ci.movie_id = mc.movie_id AND mc.company_id = cn.id AND ci.role_id = rt.id;

-- # 9a: by role and gender
SELECT rt.role, n.gender, COUNT(*) AS n FROM cast_info ci JOIN role_type rt ON rt.id = ci.role_id JOIN person n ON n.id = ci.person_id GROUP BY rt.role, n.gender ORDER BY 1, 2;
-- truth
SELECT rt.role, n.gender, COUNT(*) AS n FROM cast_info ci JOIN role_type rt ON rt.id = ci.role_id JOIN person n ON n.id = ci.person_id WHERE gender IS NOT NULL GROUP BY rt.role, n.gender ORDER BY 1, 2;

-- # 10a: decades of films
SELECT t.production_year // 10 * 10 AS decade, COUNT(*) AS n, AVG(ci.nr_order) AS place FROM cast_info ci JOIN title t ON t.id = ci.movie_id GROUP BY decade ORDER BY decade;

-- # 16b: people with films of companies of two countries
SELECT COUNT(*) AS n FROM (SELECT ci.person_id FROM cast_info ci JOIN movie_companies mc ON mc.movie_id = ci.movie_id JOIN company_name cn ON cn.id = mc.company_id GROUP BY ci.person_id HAVING COUNT(DISTINCT cn.country_code) >= 2) AS q;

-- # 17e: people whose name begins
SELECT COUNT(DISTINCT n.id) AS n FROM cast_info AS ci, movie_keyword AS mk, person AS n, keyword AS k WHERE n.name LIKE 'person 1%' AND k.keyword = 'love' AND n.id = ci.person_id AND ci.movie_id = mk.movie_id AND mk.keyword_id = k.id;

-- # 18a: ratings of films people play in
SELECT AVG(clamp(CAST(mi.info AS DOUBLE), 1, 10)) AS rating FROM cast_info ci JOIN movie_info_idx mi ON mi.movie_id = ci.movie_id JOIN info_type it ON it.id = mi.info_type_id WHERE it.info = 'rating' AND ci.note IN ('(producer)', '(voice)');

-- # 22: films of a kind that people of a place never played in
SELECT t.title, COUNT(ci.person_id) AS n FROM title t LEFT JOIN cast_info ci ON ci.movie_id = t.id AND ci.role_id = 4 WHERE t.kind_id = 1 AND t.production_year >= 2010 GROUP BY t.title ORDER BY n DESC, t.title;

-- # 30: directors who also write
SELECT COUNT(*) AS n FROM person p WHERE EXISTS (SELECT 1 FROM cast_info ci JOIN role_type rt ON rt.id = ci.role_id WHERE ci.person_id = p.id AND rt.role = 'director') AND EXISTS (SELECT 1 FROM cast_info ci, role_type rt WHERE rt.id = ci.role_id AND ci.person_id = p.id AND rt.role = 'writer');

-- # 31: pairs of people in one film
-- no answer pairs
SELECT COUNT(*) AS n FROM cast_info a JOIN cast_info b ON a.movie_id = b.movie_id AND a.person_id < b.person_id;

-- # 32: films per person
SELECT films, COUNT(*) AS people FROM (SELECT person_id, COUNT(DISTINCT movie_id) AS films FROM cast_info GROUP BY person_id) q GROUP BY films HAVING COUNT(*) > 0.5 ORDER BY films;

-- # 33: the films with most people, with a title
SELECT t.title, q.n FROM (SELECT movie_id, COUNT(*) AS n FROM cast_info GROUP BY movie_id ORDER BY n DESC, movie_id LIMIT 5) q JOIN title t ON t.id = q.movie_id ORDER BY q.n DESC, t.id;

-- # 34: missing notes
SELECT CASE WHEN note IS NULL THEN 'none' WHEN note LIKE '%voice%' THEN 'voice' ELSE 'other' END AS what, COUNT(*) AS n FROM cast_info GROUP BY what ORDER BY what;
