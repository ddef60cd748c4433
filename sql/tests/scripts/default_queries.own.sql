-- The same, where PostgreSQL says another place in the statement
create table p3 (a bool default exists (select 1));
create function ff (a int default (select 1)) returns int language sql as 'select 1';
create function ff (a int default sum(1)) returns int language sql as 'select 1';
create function ff (a int default generate_series(1,2)) returns int language sql as 'select 1';
create function ff (a int default row_number() over ()) returns int language sql as 'select 1';
