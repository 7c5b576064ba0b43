package tsqld

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/sqlprinter"
	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

var (
	listElements = flag.Int("tsqld.lists", forLongTests(300, 100), "how many elements the lists of TestLongLists have; from 10000 on, each list is ended in all ways, at different moments")
	listPairs    = flag.Int("tsqld.pairs", forLongTests(20, 100), "of the statements with two long lists, TestLongLists sends one of so many, chosen at random; 1 means all, 0 none")
	listSeed     = flag.Uint64("tsqld.seed", 0, "the seed of the choice of statements with two long lists, which the tests print; 0 means another one each time")
	listOnly     = flag.String("tsqld.only", "", "a regular expression of the names of the statements that TestLongLists and TestLongListsStop run; default all")
	listEndLimit = flag.Duration("tsqld.end", 2*time.Second, "how much processor time the process of TestLongLists may take until a statement has ended after an attention, KILL or a disconnection, with the collection of garbage")
)

// forLongTests returns the first value for the long tests, and the second one otherwise. The
// variable is that of testenv.Long, which imports this package.
func forLongTests(long, short int) int {
	if os.Getenv("JOBAGENT_TEST_LONG") != "" {
		return long
	}
	return short
}

// listSeeds are statements that together have every list of the grammar. The names that begin with
// zz get a number in each copy of an element, so that a name and its references stay together.
// Sources and expressions of the same element are copied together.
var listSeeds = []string{
	"WITH zzc (zzx) AS (SELECT 1) SELECT zza.zzx AS zzn FROM zzc AS zza WHERE zza.zzx IN (1) AND zza.zzx + 1 > 0 GROUP BY zza.zzx ORDER BY zzn OPTION (MAXDOP 1)",
	"WITH zzc AS (SELECT 1 AS x) SELECT zzc.x FROM zzc",
	"WITH zzc AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM zzc WHERE x < 3) SELECT (SELECT MAX(x) FROM zzc)",
	"SELECT zzt.a AS zzb FROM dbo.t AS zzt WITH (NOLOCK, INDEX (ix)) ORDER BY zzb",
	"SELECT a, b FROM dbo.t GROUP BY a, b ORDER BY a, b",
	"SELECT a FROM dbo.t GROUP BY ROLLUP (a, (a, b)), CUBE (b), GROUPING SETS ((a, b), (), a)",
	"SELECT zzd.zzx FROM (SELECT 1) AS zzd (zzx)",
	"SELECT zzd.zzx FROM (SELECT 1 AS zzx) AS zzd ORDER BY zzx",
	"SELECT zzv.zzx FROM (VALUES (1), (2)) AS zzv (zzx)",
	"SELECT zzj.zzx FROM OPENJSON(N'[{}]') WITH (zzx INT) AS zzj",
	"SELECT f.zzx FROM dbo.f(1) AS f (zzx)",
	"SELECT * FROM (SELECT a, b FROM dbo.t) AS s PIVOT (MAX(a) FOR b IN (zzp)) AS p",
	"SELECT zzu, zzk FROM (SELECT 1 AS zzx, 2 AS zzy) AS s UNPIVOT (zzu FOR zzk IN (zzx)) AS u",
	"SELECT SUM(a) OVER zzw FROM dbo.t WINDOW zzw AS (PARTITION BY a ORDER BY a)",
	"SELECT ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY a, b) FROM dbo.t",
	"SELECT STRING_AGG(c, ',') WITHIN GROUP (ORDER BY a) FROM dbo.t",
	"SELECT CASE WHEN a = 1 THEN 1 END, CASE a WHEN 1 THEN 2 END, COALESCE(NULL, a), CONCAT('a', c), CHOOSE(1, 2), JSON_OBJECT('zzk': 1), JSON_ARRAY(1), GREATEST(1, a), dbo.g(1) FROM dbo.t",
	"DECLARE @x XML = N'<a/>'; SELECT @x.value('(/a)[1]', 'int')",
	"DECLARE @x XML = N'<a/>'; WITH XMLNAMESPACES ('u' AS zzp) SELECT zzm.zzx.value('@b', 'int') FROM @x.nodes('/a') AS zzm (zzx)",
	"SELECT t.* FROM dbo.t AS t FOR JSON PATH, ROOT('x'), INCLUDE_NULL_VALUES",
	"SELECT 1 AS zza FOR JSON PATH",
	"SELECT 1 AS zza FOR XML PATH('r'), TYPE, ELEMENTS XSINIL",
	"SELECT 1 AS zza UNION SELECT 2 UNION ALL SELECT 3 EXCEPT SELECT 4",
	"SELECT zza.a FROM dbo.t AS zza INNER JOIN dbo.t AS zzb ON zza.a = zzb.a",
	"WITH zzc AS (SELECT 1 AS zzx) INSERT TOP (1) INTO dbo.t WITH (TABLOCK) (a, b) OUTPUT inserted.a INTO #log (x) OUTPUT inserted.a, inserted.b SELECT 1, zzx FROM zzc OPTION (MAXDOP 1)",
	"INSERT INTO dbo.t (a, b) VALUES (1, 2), (3, DEFAULT)",
	"INSERT INTO dbo.t (a) EXECUTE dbo.p @a = 1",
	"WITH zzc AS (SELECT a, b FROM dbo.t) UPDATE zzc SET b = 1, a += 1 OUTPUT inserted.a, deleted.b INTO #log (x, y) FROM zzc WHERE b IN (1) OPTION (RECOMPILE)",
	"UPDATE dbo.t SET zzx = zzy",
	"DECLARE @a INT, @b INT; UPDATE dbo.t SET @a = a, @b = b",
	"UPDATE dbo.t SET c.WRITE(N'x', 0, NULL)",
	"UPDATE t SET b = u.b FROM dbo.t AS t, dbo.t AS zzu, (SELECT 1 AS b) AS u",
	"WITH zzc AS (SELECT a, b FROM dbo.t) DELETE FROM zzc OUTPUT deleted.a INTO #log (x) FROM zzc, dbo.t AS zzt OPTION (RECOMPILE)",
	"WITH zzc AS (SELECT 1 AS a) MERGE INTO dbo.t AS t USING zzc AS s ON t.a = s.a WHEN MATCHED AND t.a = 5 THEN UPDATE SET b = 1 WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, 2) OUTPUT $action, inserted.a INTO #log (x, y) OPTION (RECOMPILE);",
	"TRUNCATE TABLE dbo.t",
	"DECLARE @zzv INT = 1; SELECT @zzv = 1; SET @zzv = 2; PRINT @zzv",
	"DECLARE @zzv INT = 1, @zzt TABLE (zza INT, zzb INT, PRIMARY KEY (zza), INDEX zzi (zzb)); SELECT @zzv = 1, @zzv = 2",
	"DECLARE zzk CURSOR FOR SELECT a, b FROM dbo.t FOR UPDATE OF a, b",
	"DECLARE @zza INT, @zzb INT; DECLARE zzk CURSOR LOCAL FOR SELECT a, b FROM dbo.t OPTION (MAXDOP 1); OPEN zzk; FETCH NEXT FROM zzk INTO @zza, @zzb; CLOSE zzk; DEALLOCATE zzk",
	"SET NOCOUNT, XACT_ABORT ON; SET STATISTICS IO, TIME OFF",
	"DECLARE @x XML = N'<a/>'; SET @x.modify('delete /a')",
	"IF 1 = 1 BEGIN SELECT 1; SELECT 2 END; BEGIN TRY SELECT 1 END TRY BEGIN CATCH SELECT 2 END CATCH; WHILE 1 = 0 BEGIN SELECT 1 END",
	"zzl: GOTO zzm; zzm: PRINT 'x'",
	"RAISERROR (N'%d %d', 10, 1, 1, 2)",
	"EXECUTE dbo.p 1; EXECUTE dbo.p @a = 1, @zza = 2; EXECUTE ('SELECT 1', 1) AT srv; EXECUTE dbo.p WITH RESULT SETS ((a INT, b INT), (c INT))",
	"EXECUTE sp_executesql N'SELECT @zza', N'@zza INT', @zza = 1",
	"EXECUTE #q @zza = 1, @zzb = 2",
	"CREATE TABLE #zz (zza INT CONSTRAINT zzn CHECK (zza > 0) DEFAULT 1, zzb INT, CONSTRAINT zzp PRIMARY KEY (zza) WITH (PAD_INDEX = ON), CONSTRAINT zzf FOREIGN KEY (zza) REFERENCES dbo.t (a), INDEX zzi (zza) INCLUDE (zzb) WITH (PAD_INDEX = ON)) WITH (DATA_COMPRESSION = PAGE)",
	"CREATE TABLE #zz (zza INT PRIMARY KEY, zzb AS zza + 1, CHECK (zza > 0), UNIQUE (zza), INDEX zzi (zza))",
	"CREATE TABLE #zz (zzb AS zza + 1, zza INT)",
	"ALTER TABLE dbo.t ADD zzx INT NULL, CONSTRAINT zzn CHECK (zzx > 0)",
	"ALTER TABLE dbo.t DROP COLUMN zza, CONSTRAINT zzb",
	"ALTER TABLE dbo.t CHECK CONSTRAINT zza, zzb; ALTER TABLE dbo.t DISABLE TRIGGER tr, zza; ALTER TABLE dbo.t SET (LOCK_ESCALATION = AUTO); ALTER TABLE dbo.t REBUILD WITH (DATA_COMPRESSION = NONE)",
	"ENABLE TRIGGER tr, zza ON dbo.t",
	"CREATE INDEX zzi ON dbo.t (a, b) INCLUDE (c) WITH (PAD_INDEX = ON, FILLFACTOR = 80)",
	"CREATE INDEX zzi ON dbo.t (a); DROP INDEX zzi ON dbo.t WITH (ONLINE = ON)",
	"ALTER INDEX ix ON dbo.t REBUILD WITH (PAD_INDEX = ON, FILLFACTOR = 80)",
	"DROP TABLE IF EXISTS dbo.zzt, dbo.zzu; DROP PROCEDURE IF EXISTS zzp",
	"CREATE PROCEDURE #p @zza INT = 1, @zzb INT = 2 AS SELECT @zza; SELECT @zzb",
	"CREATE FUNCTION dbo.zzf (@zza INT, @zzb INT) RETURNS INT AS BEGIN DECLARE @zzc INT = @zza; RETURN @zzc END",
	"CREATE FUNCTION dbo.zzf () RETURNS @zzr TABLE (zza INT, zzb INT) AS BEGIN RETURN END",
	"CREATE VIEW dbo.zzv (zza, zzb) AS SELECT 1, 2",
	"CREATE VIEW dbo.zzv AS SELECT 1 AS zza",
	"CREATE TRIGGER zzr ON dbo.t AFTER INSERT, UPDATE AS SELECT 1; SELECT 2",
	"CREATE TYPE dbo.zzt AS TABLE (zza INT, zzb INT, INDEX zzi (zza))",
	"CREATE SCHEMA zzs CREATE TABLE zzt (a INT) CREATE VIEW zzv AS SELECT 1 AS a GRANT SELECT ON zzt TO public",
	"CREATE DATABASE zzd WITH TRUSTWORTHY OFF, DB_CHAINING OFF",
	"CREATE DATABASE zzd (EDITION = 'basic')",
	"ALTER DATABASE lists SET RECOVERY SIMPLE, AUTO_CLOSE OFF",
	"ALTER DATABASE lists MODIFY (EDITION = 'basic', MAXSIZE = 1 GB)",
	"CREATE STATISTICS zzs ON dbo.t (a, b) WITH FULLSCAN, NORECOMPUTE; UPDATE STATISTICS dbo.t (zza, zzb) WITH FULLSCAN, ALL",
	"CREATE LOGIN zzl WITH PASSWORD = N'x', CHECK_POLICY = OFF, DEFAULT_DATABASE = master",
	"CREATE USER zzu WITHOUT LOGIN WITH DEFAULT_SCHEMA = dbo, ALLOW_ENCRYPTED_VALUE_MODIFICATIONS = OFF",
	"GRANT SELECT (a, b), INSERT ON dbo.t TO public, guest; GRANT SELECT ON dbo.t (a, b) TO zzu",
	"DBCC CHECKIDENT ('dbo.t', NORESEED) WITH NO_INFOMSGS, TABLERESULTS",
	"INSERT BULK dbo.t (a INT, b INT) WITH (TABLOCK, CHECK_CONSTRAINTS)",
	"DECLARE @v INT = 1; SELECT a FROM dbo.t WHERE a IN (1, @v) AND c LIKE 'a%' OR a BETWEEN 1 AND 2 OPTION (OPTIMIZE FOR (@v = 1), USE HINT ('x'))",
	"SELECT a FROM dbo.t ORDER BY a OFFSET 1 ROWS; SELECT zzt.a FROM dbo.t AS zzt WHERE EXISTS (SELECT * FROM dbo.t AS u WHERE u.a = zzt.a)",
	"DECLARE @t dbo.tt; SELECT zzt.a FROM @t AS zzt; INSERT @t (a) VALUES (1); SELECT zzt.a FROM STRING_SPLIT('a,b', ',') AS zzt",
	"CREATE TABLE #zz (a INT); SELECT a FROM #zz; DROP TABLE #zz",
}

// listsWithoutSeed are the fields of the syntax tree that need no seed, with the reason.
var listsWithoutSeed = map[string]string{
	"JSONObjectExpr.Values":  "at most as many as there are keys",
	"ObjectName.Parts":       "at most four",
	"ColumnRef.Parts":        "at most four",
	"StarItem.Qualifier":     "at most three",
	"PseudoColumn.Qualifier": "at most three",
	"TypeRef.Args":           "at most two",
}

// list is a slice in a tree, where it is, and how deep within other lists.
type list struct {
	field  string // Type.Field, with [] for a list in a list
	value  reflect.Value
	within []int         // the lists around it
	peer   reflect.Value // a list of the same length; or the zero value
}

// lists returns the lists of a tree with at least one element, from the outside to the inside.
func lists(root any) []list {
	var found []list
	var walk func(v reflect.Value, field string, within []int)
	walk = func(v reflect.Value, field string, within []int) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem(), field, within)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && !f.Anonymous {
					walk(v.Field(i), v.Type().Name()+"."+f.Name, within)
				}
			}
		case reflect.Slice:
			if v.Len() == 0 {
				return
			}
			if field == "JSONObjectExpr.Values" { // as long as the one before it, the keys
				found[len(found)-1].peer = v
			}
			found = append(found, list{field: field, value: v, within: within})
			inner := append(slices.Clone(within), len(found)-1)
			for i := range v.Len() {
				walk(v.Index(i), field+"[]", inner)
			}
		}
	}
	walk(reflect.ValueOf(root), "", nil)
	return found
}

// copied returns a deep copy of a part of a tree, in which names that begin with zz end with
// number.
func copied(v reflect.Value, number int) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(copied(v.Elem(), number))
		return c
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type()).Elem()
		c.Set(copied(v.Elem(), number))
		return c
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !f.Anonymous {
				c.Field(i).Set(copied(v.Field(i), number))
			}
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(copied(v.Index(i), number))
		}
		return c
	case reflect.String:
		if s := v.String(); number > 0 && (strings.HasPrefix(s, "zz") || strings.HasPrefix(s, "@zz")) {
			c := reflect.New(v.Type()).Elem()
			c.SetString(s + strconv.Itoa(number))
			return c
		}
	}
	return v
}

// grow makes a list n elements long. The copies of its elements have numbers if numbered is true.
func (l list) grow(n int, numbered bool) {
	if l.peer.IsValid() {
		list{value: l.peer}.grow(n, numbered)
	}
	long := reflect.MakeSlice(l.value.Type(), 0, n)
	for i := 0; i < n; i++ {
		number := 0
		if numbered {
			number = i / l.value.Len()
		}
		long = reflect.Append(long, copied(l.value.Index(i%l.value.Len()), number))
	}
	l.value.Set(long)
}

// longList is a batch with a long list, or with two. text returns it with n elements in each list.
type longList struct {
	name string
	text func(n int) string
}

// longLists makes the batches whose lists will have n elements, one after the other. pairs says
// which of the batches with two long lists to make, too: one of that many; 0 means none.
func longLists(t *testing.T, n, pairs int) iter.Seq[longList] {
	t.Helper()
	seed := *listSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	if pairs > 1 {
		t.Logf("repeat the choice of pairs with -tsqld.pairs %d -tsqld.seed %d", pairs, seed)
	}
	choice := rand.New(rand.NewPCG(seed, 0))
	return func(yield func(longList) bool) {
		seen := map[string]bool{} // texts with few elements: others have the same long text
		for i, seed := range listSeeds {
			parse := func() (*syntax.Batch, []list) {
				b, err := parser.Parse(seed, parser.DefaultOptions)
				require.NoError(t, err, seed)
				return b, lists(b)
			}
			text := func(n int, numbered bool, grown ...int) string {
				b, found := parse()
				size := n
				if len(grown) == 2 && slices.Contains(found[grown[1]].within, grown[0]) {
					for size = 1; size*size < n; {
						size++
					}
				}
				for _, g := range slices.Backward(grown) { // the inner list first
					found[g].grow(size, numbered)
				}
				b.Source = ""
				return sqlprinter.Print(b)
			}
			_, all := parse()
			add := func(grown ...int) bool {
				name := strconv.Itoa(i)
				for _, g := range grown {
					name += " " + all[g].field
				}
				for _, numbered := range []bool{true, false} {
					if !numbered && n < 10000 {
						continue
					}
					if !numbered {
						name += " same"
					}
					short := text(9, numbered, grown...)
					if seen[short] {
						continue
					}
					seen[short] = true
					if !yield(longList{name, func(n int) string { return text(n, numbered, grown...) }}) {
						return false
					}
				}
				return true
			}
			var kept []int
			for k, l := range all {
				if listsWithoutSeed[l.field] == "" {
					kept = append(kept, k)
				}
			}
			for at, a := range kept {
				if !add(a) {
					return
				}
				for _, b := range kept[at+1:] {
					if pairs == 0 || all[a].field == "Batch.Stmts" && i > 0 {
						break
					}
					if choice.IntN(pairs) == 0 && !add(a, b) {
						return
					}
				}
			}
		}
	}
}

// TestEveryListHasASeed expects that listSeeds have each list of the syntax tree.
func TestEveryListHasASeed(t *testing.T) {
	known := map[string]bool{}
	for _, seed := range listSeeds {
		b, err := parser.Parse(seed, parser.DefaultOptions)
		require.NoError(t, err, seed)
		for _, l := range lists(b) {
			known[l.field] = true
		}
	}
	files, err := filepath.Glob("syntax/nodes_*.go")
	require.NoError(t, err)
	n := 0
	for _, path := range files {
		f, err := goparser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(node ast.Node) bool {
			decl, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := decl.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range s.Fields.List {
				if _, ok := f.Type.(*ast.ArrayType); !ok {
					continue
				}
				for _, name := range f.Names {
					n++
					field := decl.Name.Name + "." + name.Name
					if !known[field] && listsWithoutSeed[field] == "" {
						t.Errorf("%s: add a statement with this list to listSeeds", field)
					}
				}
			}
			return true
		})
	}
	require.Greater(t, n, 100)
}

// listSchema are the batches that make the database of listSeeds, of which bob is an owner.
var listSchema = []string{
	"CREATE DATABASE lists",
	"USE lists; CREATE USER bob FOR LOGIN bob; ALTER ROLE db_owner ADD MEMBER bob; CREATE TABLE dbo.t (a INT NOT NULL PRIMARY KEY, b INT NULL, c NVARCHAR(MAX) NULL, INDEX ix (b)); INSERT dbo.t VALUES (1, 2, N'x'), (2, 3, N'y'); CREATE TYPE dbo.tt AS TABLE (a INT)",
	"USE lists; EXECUTE (N'CREATE PROCEDURE dbo.p @a INT = 1 AS SELECT @a'); EXECUTE (N'CREATE FUNCTION dbo.f (@a INT) RETURNS TABLE AS RETURN SELECT @a AS a'); EXECUTE (N'CREATE FUNCTION dbo.g (@a INT) RETURNS INT AS BEGIN RETURN @a END'); EXECUTE (N'CREATE TRIGGER dbo.tr ON dbo.t AFTER DELETE AS RETURN')",
}

// listBegin is the batch before each batch with a long list.
const listBegin = "USE lists; BEGIN TRAN; CREATE TABLE #log (x INT, y INT)"

// drop ends the transaction of a connection and closes it.
func drop(t *testing.T, conn *sql.Conn) {
	_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "IF @@TRANCOUNT > 0 ROLLBACK")
	if err != nil {
		t.Logf("after the end: %v", err) // the driver may have dropped the connection
	}
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // an error is the purpose
}

// listEnd is a way to end a statement over its connection or from another one. It returns the
// processor time of the process until the statement has ended: other programs do not change it.
type listEnd struct {
	name string
	end  func(t *testing.T, s *attacked, text string, after time.Duration) time.Duration
}

// listEnds are the ways to end a statement.
var listEnds = []listEnd{
	{"attention", attend},
	{"KILL", func(t *testing.T, s *attacked, text string, after time.Duration) time.Duration {
		return endOfSession(t, s, text, after, func(c *attackClient) {
			_, err := s.sa.ExecContext(t.Context(), "KILL "+strconv.Itoa(c.spid))
			var m mssql.Error
			if !errors.As(err, &m) || m.Number != 6106 { // no longer active
				require.NoError(t, err)
			}
		})
	}},
	{"disconnection", func(t *testing.T, s *attacked, text string, after time.Duration) time.Duration {
		return endOfSession(t, s, text, after, func(c *attackClient) { c.close() })
	}},
}

// listClient is a client in the transaction of listBegin that has sent a batch and reads the
// answer.
type listClient struct {
	*attackClient
	acknowledged chan error // an attention; closed at the end of the connection
}

// sendList connects, and sends a batch.
func sendList(t *testing.T, s *attacked, text string) *listClient {
	c := &listClient{newAttackClient(t, s), make(chan error, 1)}
	c.send(listBegin)
	_, answer, err := tds.ReadMessage(c.conn, 1<<20)
	require.NoError(t, err)
	_, descriptor, found := bytes.Cut(answer, []byte{0xE3, 11, 0, 8, 8}) // ENVCHANGE: a transaction has begun
	require.True(t, found && len(descriptor) >= 8)
	go func() { // ends with the connection
		defer close(c.acknowledged)
		const done, doneSize = 0xFD, 13
		var end []byte // of the message
		for {
			h, payload, err := tds.ReadPacket(c.conn)
			if err != nil {
				return
			}
			end = append(end, payload...)
			end = end[max(0, len(end)-doneSize):]
			if h.EOM() && len(end) == doneSize && end[0] == done && tds.DoneStatus(end[1])&tds.DoneAttention != 0 {
				c.acknowledged <- nil
			}
		}
	}()
	c.message(tds.PacketBatch, tdsclient.AppendBatch(nil, &tds.Batch{
		Headers: tds.Headers{Descriptor: binary.LittleEndian.Uint64(descriptor), HasTran: true}, Text: text,
	}, tds.Version74))
	return c
}

// attend sends a batch, and after a time an attention. It returns the processor time until the
// acknowledgment.
func attend(t *testing.T, s *attacked, text string, after time.Duration) time.Duration {
	c := sendList(t, s, text)
	defer c.close()
	time.Sleep(after)
	start := processTime()
	c.message(tds.PacketAttention, nil)
	acknowledged := false
	inTime(t, "attention", func() { _, acknowledged = <-c.acknowledged })
	require.True(t, acknowledged)
	return processTime() - start
}

// endOfSession sends a batch, ends its session after a time, and returns the processor time until
// the end.
func endOfSession(t *testing.T, s *attacked, text string, after time.Duration, end func(*attackClient)) time.Duration {
	c := sendList(t, s, text)
	defer c.close()
	time.Sleep(after)
	start := processTime()
	inTime(t, "the session", func() {
		end(c.attackClient)
		for selectInt(t, s.sa, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = "+strconv.Itoa(c.spid)) > 0 {
			time.Sleep(time.Millisecond)
		}
	})
	return processTime() - start
}

// checkListError fails the test after an error that a client must not see.
func checkListError(t *testing.T, text string, err error) (number int32) {
	t.Helper()
	var m mssql.Error
	if errors.As(err, &m) {
		number = m.Number
	}
	if number == 8630 { // an internal error
		t.Errorf("%.300s: %v", text, err)
	}
	return number
}

// TestLongLists sends statements that have long lists: one for each list of the grammar, and those
// for pairs of lists. Each of them ends by itself in time. An attention, KILL or a disconnection
// ends it, too, over a connection. With -v, the test prints the times of all: alone on the clock,
// and to the end in processor time.
func TestLongLists(t *testing.T) {
	memory := int64(attackMemory)
	full := *listElements >= 10000
	if full {
		memory = meter.DefaultLimit // statements get beyond their first step
	}
	s := newAttackedServerWith(t, memory)
	for _, batch := range listSchema {
		_, err := s.sa.ExecContext(t.Context(), batch)
		require.NoError(t, err, batch)
	}
	type row struct {
		name         string
		bytes        int
		number       int32 // of the error
		alone, worst time.Duration
		how          string
	}
	var rows []row
	i := -1
	for l := range longLists(t, *listElements, *listPairs) {
		if !regexp.MustCompile(*listOnly).MatchString(l.name) {
			continue
		}
		i++
		t.Run(l.name, func(t *testing.T) {
			long := l.text(*listElements)
			text := func(run int) string { return fmt.Sprintf("/* %d */ %s", run, long) } // no cache has the text
			conn, _ := s.bob()
			require.NoError(t, runAttack(t.Context(), conn, listBegin))
			r := row{name: l.name, bytes: len(long)}
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), attackTimeout/4)
			defer cancel()
			inTime(t, "the statement", func() { r.number = checkListError(t, long, runAttack(ctx, conn, text(0))) })
			r.alone = time.Since(start)
			drop(t, conn)
			parts := 1
			if full && r.alone > 20*time.Millisecond {
				parts = len(listEnds)
			}
			for part := range parts {
				e := listEnds[(i+part)%len(listEnds)]
				d := e.end(t, s, text(part+1), r.alone*time.Duration(2*part+1)/time.Duration(2*parts))
				if d >= r.worst {
					r.worst, r.how = d, e.name
				}
				if d > *listEndLimit {
					t.Errorf("%.300s: %s ended it after %v of processor time, want %v", long, e.name, d, *listEndLimit)
				}
			}
			t.Logf("%8.1f ms alone, %8.1f ms after %-13s, %8d bytes, error %5d", r.alone.Seconds()*1000, r.worst.Seconds()*1000, r.how, r.bytes, r.number)
			rows = append(rows, r)
		})
	}
	if len(rows) > 0 {
		slowest := slices.MaxFunc(rows, func(a, b row) int { return cmp.Compare(a.worst, b.worst) })
		t.Logf("%d statements; at most %v of processor time to the end, after %s: %s", len(rows), slowest.worst, slowest.how, slowest.name)
	}
}
