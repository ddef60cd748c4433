-- The right side of IS DISTINCT FROM ends before AND and OR.
select true is distinct from false and false;
select false and true is distinct from false;
select true is not distinct from true and false;
select true is distinct from false or true;
select false is not distinct from true or true;
select 1 is distinct from 1 + 1;
select false is distinct from 1 = 1;
select true is distinct from 1 < 2;
select 1 = 1 is distinct from false;
select not true is distinct from false;
select true is distinct from 2 between 1 and 3;
select true is distinct from 'a' like 'b';
select true is distinct from 1 in (1, 2);
select case when 1 is distinct from 2 and false then 'yes' else 'no' end;

-- Others of its kind.
select true is true and false;
select false is null or true;
select 1 between 0 and 2 and false;
select 3 between symmetric 4 and 2 and false;
select 'a' like 'a' and false;
select 'a' like 'xa' escape 'x' and false;
select 1 in (1) and false;
select 1 + 1 in (2);
select true = 1 in (1);
select 'b' = 'a' || 'b' collate "C";
select 2 + 3 operator(pg_catalog.*) 4;
select 2 ^ 3 ^ 2, 2 - 1 - 1;

-- A sign binds more tightly than any other operator.
select -2 ^ 2, - 2 ^ 2 * 3, -(2 ^ 2), 2 ^ -1, +3 ^ 2, -'7'::text::int % 4, - -3;
select -a ^ 2, -a::numeric(3, 1), - a.b from (select 3 as a, 4 as b) a;
select 1 isnull, null isnull, 1 notnull, not null isnull, 1 + null isnull, (null notnull) isnull;
select 'a' || null isnull, 1 = 2 isnull, null isnull is true, "isnull" from (select 5 as "isnull") t;
select count(*) from (values (1), (null), (3)) t(v) where v isnull or v notnull and v > 1;
