-- The types inet, cidr, macaddr and macaddr8.
create table hosts (id int primary key, i inet, c cidr, m macaddr, m8 macaddr8);
insert into hosts values
  (1, '192.168.1.226/24', '192.168.1', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05'),
  (2, '192.168.1.226', '192.168.1.0/26', '08-00-2B-01-02-04', '08002b:0102030405'),
  (3, '10.1.2.3/8', '10', '08002b:010205', '0800.2b01.0203.0405'),
  (4, '10:23::f1/64', '10:23::8000/113', '0800.2b01.0206', '08:00:2b:01:02:03'),
  (5, '::ffff:1.2.3.4', '::4.3.2.0/120', '08002b010207', '08002b01:02030405'),
  (6, '10.1', '10.1.2', '8:0:2b:1:2:8', null);
insert into hosts values (6, '10.1/16', '10.1.2', '8:0:2b:1:2:8', null), (7, '::', '::', null, 'ff-ff-ff-ff-ff-ff-ff-ff');
select * from hosts order by id;
select id, host(i), text(i), i::text, i::varchar, abbrev(i), abbrev(c), family(i), masklen(i), c::text from hosts order by id;
select id, broadcast(i), network(i), netmask(i), hostmask(i), set_masklen(i, 20), set_masklen(c, 8), set_masklen(c, -1) from hosts order by id;
select i, c, i < c, i <= c, i = c, i >= c, i > c, i <> c, i << c, i <<= c, i >> c, i >>= c, i && c from hosts order by id;
select ~i, i & c, i | c from hosts where family(i) = family(c) order by id;
select i + 500, i - 5, i - c, 3 + i from hosts where id in (1, 3, 7) order by id;
select i + 500 from hosts where id = 7;
select i - 500 from hosts where id = 7;
select max(i), min(i), max(c), min(c), count(distinct i) from hosts;
select pg_typeof(max(c)), pg_typeof(network(i)), pg_typeof(set_masklen(c, 1)), pg_typeof(i & c), pg_typeof(i - i) from hosts group by i, c limit 1;
select max(m) from hosts;
select m, ~m, m & '00:00:00:ff:ff:ff', m | '00:00:00:ff:ff:ff', trunc(m), m::macaddr8, macaddr8(m) as wide from hosts where m is not null order by id;
select m8, ~m8, trunc(m8), macaddr8_set7bit(m8), m8 & m8, m8 | '01:01:01:01:01:01:01:01' from hosts where m8 is not null order by m8 desc;
select m8::macaddr from hosts where id = 4;
select m8::macaddr from hosts where id = 5;
select i from hosts order by i;
select c from hosts order by c desc;
select inet_merge(i, c), inet_same_family(i, c) from hosts where inet_same_family(i, c) order by id;
select inet_merge('10.1.2.3', '::1');
select inet_merge('192.168.1.5/24', '192.168.2.5/24'), inet_merge('::1', '::2'), inet_merge('1.2.3.4', '1.2.3.4');

-- Reading.
select '10.1.2.3.'::inet, '10.1/16'::inet, '1.2.3.4/08'::inet, '010.1.2.3'::inet, '0/0'::inet;
select '10'::cidr, '192.168.1'::cidr, '224.1'::cidr, '224'::cidr, '0x0a01'::cidr, '10.1.2.3'::cidr, '240'::cidr, '128'::cidr, '0X0a0'::cidr;
select '::1.2.3.4'::inet, '::ffff:1.2.3.4/100'::inet, '::102:304'::inet, '1::'::cidr, '::/0'::cidr, '::ffff:0:0'::inet;
select '1:0:0:2:0:0:0:3'::inet, 'ABCD::EF01'::inet, '1:2:3:4:5:6:7::'::inet, '1:0:2:3:4:5:6:7'::inet, '0:0:0:0:0:0:0:1'::inet;
select abbrev('::/0'::cidr), abbrev('2001:4f8:3:ba::/64'::cidr), abbrev('2001:db8::/32'::cidr), abbrev('::ffff:1.2.3.0/120'::cidr), abbrev('::ffff:1.2.3.4/128'::cidr);
select abbrev('8000::/1'::cidr), abbrev('::/16'::cidr), abbrev('1:0:0:2::/64'::cidr), abbrev('1::2:0:0:0:0/96'::cidr), abbrev('0.0.0.0/0'::cidr), abbrev('10.128.0.0/9'::cidr);
select '10.1'::inet;
select '10.1.2.3/33'::inet;
select '1.2.3.256'::inet;
select '1.2.3.4.5'::inet;
select ''::inet;
select ' 1.2.3.4'::inet;
select '1.2.3.4/'::inet;
select '1.2.3.4/a'::inet;
select '::1/08'::inet;
select '::1/129'::inet;
select 'a:b'::inet;
select '1234::1234::1234'::cidr;
select '10.1.2.3/8'::cidr;
select '::1/64'::cidr;
select '0x0a01'::inet;
select '08:00:2b:01:02:103'::macaddr;
select '0800:2b01:0203'::macaddr;
select '08:00:2b:01:02'::macaddr;
select '08:00:2b:01:02:03:04'::macaddr;
select ' 08:00:2b:01:02:03 '::macaddr, ' 08:00:2b:01:02:03:04:05 '::macaddr8, '8002b:010203'::macaddr;
select '8:0:2b:1:2:3:4:5'::macaddr8;
select '08:00-2b:01:02:03:04:05'::macaddr8;
select '08:00:2b:01:02:03:04'::macaddr8;
select '08:00:2b:01:02:03:04:05:06'::macaddr8;
select set_masklen('10.1.2.3'::inet, 33);
select '127.0.0.1'::inet - '::1'::inet;
select '127.0.0.1'::inet & '::1'::inet;
select '126::1'::inet - '127::2'::inet;
select '127.0.0.1'::inet + 10000000000;
select text('10.0.0.1'::inet), text('10/8'::cidr), "text"('08:00:2b:01:02:03'::macaddr);
select 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'::inet + 1, 1;
select '255.255.255.255'::inet - 4294967295, '0.0.0.0'::inet - '255.255.255.255';

-- Types of expressions.
select '10.0.0.0/8'::cidr::inet, '10.1.2.3/8'::inet::cidr, '10.0.0.1'::inet || 'x', 'x' || '10.0.0.0/8'::cidr, format('%s', '10.0.0.1'::inet), concat('10.0.0.1'::inet, 1);
select '10.0.0.1'::text::inet, '10.0.0.1'::varchar::cidr, inet '10.1.2.3', cidr('10.1.2.3'::inet), inet('10.1.2.3');
select case when true then '10.0.0.1'::inet else '10/8'::cidr end, coalesce('10/8'::cidr, '10.0.0.1'::inet), array['10/8'::cidr, '10.0.0.1'::inet];
select array['10.0.0.1', '10.0.0.0/8']::inet[], '{10/8,192.168/16}'::cidr[], array['08:00:2b:01:02:03']::macaddr[], '{10.0.0.1,NULL}'::inet[];
select '10.0.0.1'::inet = any ('{10.0.0.1,10.0.0.2}'), '10.0.0.1'::inet in ('10.0.0.1', '10.0.0.2'), '10.0.0.1'::inet between '10.0.0.0' and '10.0.0.9';
select '192.168.1.5' << inet '192.168.1/24', '192.168.1.5'::inet << '192.168.1/24', inet '192.168.1/24' >> '192.168.1.5';
select to_json('10.0.0.1'::inet), to_jsonb('10.0.0.0/8'::cidr), row('10.0.0.1'::inet, '08:00:2b:01:02:03'::macaddr)::text, greatest('10.0.0.1'::inet, '9.0.0.1');
select i::int from hosts;
select '08:00:2b:01:02:03'::macaddr = '08:00:2b:01:02:03'::macaddr8::macaddr;
select '10.0.0.1'::inet + '10.0.0.1'::inet;
select '10.0.0.1'::inet * 2;
insert into hosts (id, i, c) values (8, '10.0.0.0/8'::cidr, '10.1.2.3/8'::inet);
select id, i, c from hosts where id = 8;
update hosts set i = c where id = 1 returning i, c;
insert into hosts (id, c) select 9, '10.0.0.1'::text;

-- Keys, indexes, and groups.
create table by_address (a inet primary key, c cidr unique, m macaddr);
create index on by_address (c cidr_ops, a inet_ops desc);
create index on by_address (m, a);
insert into by_address select i, network(i), m from hosts where id <> 8 on conflict do nothing;
insert into by_address values ('192.168.1.0/24', null, null);
select a from by_address where a < '11.0.0.0' order by a desc;
select a, c from by_address where c = '10.1/16' or a = '::ffff:1.2.3.4';
select a from by_address where a << '192.168.0.0/16' order by a;
select c, count(*) from by_address group by c order by c nulls first;
select distinct family(a), c from by_address order by 1, 2;
select indexdef from pg_indexes where tablename = 'by_address' order by 1;
select a.attname, format_type(a.atttypid, a.atttypmod), t.typlen, t.typcategory, t.typispreferred, t.typarray::regtype
from pg_attribute a join pg_type t on t.oid = a.atttypid where attrelid = 'by_address'::regclass and attnum > 0 order by attnum;
create table with_defaults (a inet default '10.0.0.1', c cidr default '10.0.0.0/8' check (c << '10.0.0.0/7'), check (a <<= inet '10.0.0.0/8'), b inet[] default '{}');
insert into with_defaults default values returning *;
insert into with_defaults (a) values ('11.0.0.1');
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'with_defaults'::regclass order by adnum;
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'with_defaults'::regclass order by 1;
create view seen as select a, host(a) as host, a << '10.0.0.0/8'::cidr as is_own, a + 1 as next, ~a as inverse, a & netmask(a) as masked from by_address;
select pg_get_viewdef('seen');
select * from seen where is_own order by a;
create function is_near(a inet, b inet) returns boolean language plpgsql immutable as $$
declare n cidr := set_masklen(a, 24)::cidr; begin return b << n; end $$;
select is_near('10.0.0.1', '10.0.0.2'), is_near('10.0.0.1', '10.0.1.2');
select oprname, oprleft::regtype, oprright::regtype, oprresult::regtype from pg_operator where oprleft = 'inet'::regtype order by 1, 2, 3;
copy (select * from by_address order by a) to stdout;
select int8 '7', name 'x', missing_type 'x';
select int8 '7', name 'x', "char" 'ab';
drop view seen;
drop function is_near;
drop table hosts, by_address, with_defaults;
