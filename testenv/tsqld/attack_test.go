package tsqld

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// attacksFlag is -tsqld.attacks=full for the long version of the tests of this file.
var attacksFlag = flag.String("tsqld.attacks", "short", "short, or full: all resource attacks with all their ends, for longer")

// attack is a statement with which an ordinary login could exhaust the server's memory or CPU.
// Every login may run it.
type attack struct {
	name  string
	text  string
	first bool // a part of the short version
}

// many is n times s, as an expression of type varchar(max).
func many(s string, n int) string {
	return fmt.Sprintf("REPLICATE(CAST('%s' AS varchar(max)), %d)", s, n)
}

// hugeProduct is a product of catalog views with more rows than a test can wait for.
const hugeProduct = "sys.all_columns AS a CROSS JOIN sys.all_columns AS b CROSS JOIN sys.all_columns AS c"

// attacks are those of the security review (H6, H7 and its figures) and similar ones.
func attacks() []attack {
	var declares strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&declares, "DECLARE @v%d int = 1\n", i)
	}
	return []attack{
		{name: "doubling", first: true, text: "DECLARE @x varchar(max) = 'xxxxxxxxxxxxxxxx'; WHILE 1=1 SET @x = @x + @x"},
		{name: "doubling caught", text: "DECLARE @x varchar(max) = 'xxxxxxxxxxxxxxxx'; WHILE 1=1 BEGIN TRY SET @x = @x + @x END TRY BEGIN CATCH SET @x += 'x' END CATCH"},
		{name: "replace", first: true, text: "DECLARE @x varchar(max) = " + many("a", 100_000) + "; SELECT LEN(REPLACE(@x, 'a', @x))"},
		{name: "replicate", text: "SELECT LEN(" + many("a", 2_000_000_000) + ")"},
		{name: "wide row", first: true, text: "SELECT " + strings.Repeat(many("a", 10_000_000)+", ", 60) + "1"},
		{name: "series", first: true, text: "SELECT COUNT_BIG(*) FROM GENERATE_SERIES(CAST(1 AS bigint), CAST(1000000000000 AS bigint))"},
		{name: "series sent", text: "SELECT value FROM GENERATE_SERIES(CAST(1 AS bigint), CAST(1000000000000 AS bigint))"},
		{name: "split", first: true, text: "SELECT COUNT_BIG(*) FROM STRING_SPLIT(" + many(",", 30_000_000) + ", ',')"},
		{name: "split and joined", first: true, text: "SELECT LEN(STRING_AGG(CAST(a.value AS varchar(max)), 'xxxxxxxx')) FROM STRING_SPLIT(" + many(",", 30_000_000) + ", ',') AS a"},
		{name: "recursion", first: true, text: "WITH r AS (SELECT CAST('a' AS varchar(max)) AS a UNION ALL SELECT a + a FROM r) SELECT MAX(LEN(a)) FROM r OPTION (MAXRECURSION 0)"},
		{name: "endless recursion", text: "WITH r AS (SELECT 1 AS a UNION ALL SELECT a FROM r) SELECT MAX(a) FROM r OPTION (MAXRECURSION 0)"},
		{name: "for xml", first: true, text: "SELECT a.name FROM " + hugeProduct + " FOR XML PATH"},
		{name: "for json", first: true, text: "SELECT a.name FROM " + hugeProduct + " FOR JSON PATH"},
		{name: "string_agg", first: true, text: "SELECT LEN(STRING_AGG(CAST(a.name AS varchar(max)), ',')) FROM " + hugeProduct},
		{name: "count distinct", text: "SELECT COUNT(DISTINCT a.name + b.name + c.name) FROM " + hugeProduct},
		{name: "group by", text: "SELECT TOP (1) a.name, b.name, COUNT(*) FROM " + hugeProduct + " GROUP BY a.name, b.name"},
		{name: "row_number", text: "SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY a.name, b.name, c.name) AS n FROM " + hugeProduct + ") AS t"},
		{name: "order by", first: true, text: "SELECT TOP (1) a.name + b.name AS x FROM " + hugeProduct + " ORDER BY x, c.name"},
		{name: "into", first: true, text: "SELECT a.name AS x, b.name AS y INTO #t FROM " + hugeProduct},
		{name: "table variable", text: "DECLARE @t TABLE (a varchar(8000)); WHILE 1=1 INSERT @t SELECT REPLICATE('a', 8000) FROM sys.all_columns"},
		{name: "cursor", first: true, text: "DECLARE k CURSOR STATIC FOR SELECT a.name FROM " + hugeProduct + "; OPEN k"},
		{name: "insert exec", first: true, text: "CREATE TABLE #t (a sysname); INSERT #t EXEC ('SELECT a.name FROM " + hugeProduct + "')"},
		{name: "output", text: "CREATE TABLE #t (a int); INSERT #t (a) OUTPUT inserted.a SELECT a.column_id FROM " + hugeProduct},
		{name: "openjson", first: true, text: "SELECT COUNT(*) FROM OPENJSON('[' + " + many("1,", 8_000_000) + " + '1]')"},
		{name: "xml", first: true, text: "SELECT CAST(" + many("<a/>", 5_000_000) + " AS xml)"},
		{name: "like", first: true, text: "DECLARE @n int = 0; WHILE 1=1 SELECT @n += 1 WHERE " + many("a", 1_000_000) + " LIKE '%" + strings.Repeat("a_", 1000) + "b%'"},
		{name: "patindex", first: true, text: "WHILE 1=1 SELECT PATINDEX('%" + strings.Repeat("a", 100) + "%b%', " + many("a", 200_000) + ")"},
		{name: "charindex", text: "WHILE 1=1 SELECT CHARINDEX(" + many("a", 100_000) + " + 'b', " + many("a", 10_000_000) + ")"},
		{name: "decompress", text: "DECLARE @x varbinary(max) = COMPRESS(" + many("a", 20_000_000) + "); WHILE 1=1 SET @x = COMPRESS(DECOMPRESS(@x) + DECOMPRESS(@x))"},
		{name: "dots", first: true, text: "SELECT a" + strings.Repeat(".a", 1_000_000)},
		{name: "nested case", first: true, text: "SELECT " + strings.Repeat("CASE WHEN 1=1 THEN ", 300_000)},
		{name: "parentheses", first: true, text: "SELECT * FROM " + strings.Repeat("(", 500_000) + strings.Repeat(")", 500_000)},
		{name: "parentheses and chains", first: true, text: "SELECT " + strings.Repeat("(", 480) + "1" + strings.Repeat(strings.Repeat("+1", 500)+")", 480)},
		{name: "values", first: true, text: "SELECT COUNT(*) FROM (VALUES (1)" + strings.Repeat(",(1)", 100_000) + ") AS v (a)"},
		{name: "values of columns", text: "SELECT COUNT(*) FROM (VALUES (1,'a',NULL)" + strings.Repeat(",(1,'a',NULL)", 100_000) + ") AS v (a, b, c)"},
		{name: "declares", first: true, text: declares.String()},
		{name: "statements", text: strings.Repeat("SELECT 1\n", 300_000)},
		{name: "in", text: "SELECT 1 WHERE 1 IN (2" + strings.Repeat(",2", 300_000) + ")"},
		{name: "dynamic", text: "DECLARE @x nvarchar(max) = N'SELECT 1 WHERE 1=0', @n int = 0; WHILE 1=1 BEGIN SET @n += 1; SET @x += CONCAT(N' OR 1=', @n); EXEC (@x) END"},
		{name: "write in a transaction", first: true, text: "CREATE TABLE #t (a int); BEGIN TRAN; INSERT #t SELECT a.column_id FROM " + hugeProduct},
	}
}

// chosen returns the attacks of this run. The short version runs every n-th of some attacks, from
// the given one on.
func chosen(every, from int) []attack {
	var list []attack
	n := 0
	for _, a := range attacks() {
		if *attacksFlag == "full" {
			list = append(list, a)
			continue
		}
		if !a.first {
			continue
		}
		if n%every == from {
			list = append(list, a)
		}
		n++
	}
	return list
}

const (
	// attackMemory is Config.MaxMemory of the attacked servers, in bytes.
	attackMemory = 192 << 20
	// attackTimeout is the time after which an attack counts as endless. It is far above the
	// promised time, for busy machines.
	attackTimeout = 20 * time.Second
)

// attackTime is how long an attack goes on before it is ended.
func attackTime() time.Duration {
	if *attacksFlag == "full" {
		return 2 * time.Second
	}
	return 60 * time.Millisecond
}

// attacked is a server with a login that has no rights.
type attacked struct {
	*Server
	t  *testing.T
	sa *sql.DB
}

// newAttackedServer starts a server with attackMemory.
func newAttackedServer(t *testing.T) *attacked {
	t.Helper()
	return newAttackedServerWith(t, attackMemory)
}

// newAttackedServerWith starts a server with a memory limit in bytes.
func newAttackedServerWith(t *testing.T, memory int64) *attacked {
	t.Helper()
	s, err := New(Config{SAPassword: "secret", MaxMemory: memory, OnError: func(err error) { t.Log(err) }, OnPanic: func(v any, stack []byte) { t.Errorf("panic: %v\n%s", v, stack) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	a := &attacked{Server: s, t: t}
	a.sa = a.open("sa", "secret")
	_, err = a.sa.ExecContext(t.Context(), "CREATE LOGIN bob WITH PASSWORD = 'Secret-0'")
	require.NoError(t, err)
	return a
}

// open opens connections of a login.
func (a *attacked) open(user, password string) *sql.DB {
	a.t.Helper()
	c, err := mssql.NewConnector("sqlserver://" + user + ":" + password + "@tsqld?encrypt=disable&packet+size=32767")
	require.NoError(a.t, err)
	c.Dialer = a.Dialer()
	db := sql.OpenDB(c)
	a.t.Cleanup(func() { require.NoError(a.t, db.Close()) })
	return db
}

// bob opens a session of the login without rights.
func (a *attacked) bob() (conn *sql.Conn, spid int) {
	a.t.Helper()
	db := a.open("bob", "Secret-0")
	conn, err := db.Conn(a.t.Context())
	require.NoError(a.t, err)
	require.NoError(a.t, conn.QueryRowContext(a.t.Context(), "SELECT @@SPID").Scan(&spid))
	return conn, spid
}

// attack runs a text to its end and takes all that it answers.
func runAttack(ctx context.Context, conn *sql.Conn, text string) error {
	// ExecContext reads the whole answer. QueryContext of go-mssqldb 1.11.2 leaves what follows a
	// statement that fails, and the next request waits for the end of that answer for ever.
	_, err := conn.ExecContext(ctx, text)
	return err
}

// inTime fails the test if f takes longer than attackTimeout.
func inTime(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(attackTimeout):
		buf := make([]byte, 1<<20)
		t.Fatalf("%s: still not after %v\n%s", what, attackTimeout, buf[:runtime.Stack(buf, true)])
	}
}

// TestAttacksEndByAttention checks that an attention ends every attack, that its session can be
// used afterwards, and that another session is served meanwhile.
func TestAttacksEndByAttention(t *testing.T) {
	s := newAttackedServer(t)
	for _, a := range chosen(1, 0) {
		t.Run(a.name, func(t *testing.T) {
			conn, _ := s.bob()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- runAttack(ctx, conn, a.text) }()
			time.Sleep(attackTime())
			inTime(t, "another session", func() { require.Equal(t, 1, selectInt(t, s.sa, "SELECT 1")) })
			cancel()
			inTime(t, "attention", func() { checkEnd(t, <-ended) })
			inTime(t, "the session", func() {
				if conn.PingContext(t.Context()) == nil { // the driver drops a connection after an attention at a bad moment
					require.Equal(t, 2, selectInt(t, conn, "SELECT 2"))
				}
			})
			_ = conn.Close() // the driver may have dropped it
		})
	}
}

// checkEnd checks the error of an ended attack: an attention, too little memory, or a limit of the
// server. Other errors are defects.
func checkEnd(t *testing.T, err error) {
	t.Helper()
	var m mssql.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled):
	case errors.As(err, &m):
		require.Contains(t, []int32{701, 191, 104, 117, 4104, 8623, 0, 3609}, m.Number, "%v", err)
	default:
		require.ErrorContains(t, err, "canceled")
	}
}

// TestAttacksEndWithTheirClient checks that an attack and its session end when the client has gone.
func TestAttacksEndWithTheirClient(t *testing.T) {
	testEnds(t, chosen(3, 0), func(_ *attacked, cut func(), _ int) { cut() })
}

// TestAttacksEndByKill checks that KILL ends an attack and its session.
func TestAttacksEndByKill(t *testing.T) {
	testEnds(t, chosen(3, 1), func(s *attacked, _ func(), spid int) {
		_, err := s.sa.ExecContext(s.t.Context(), "KILL "+strconv.Itoa(spid))
		var m mssql.Error
		if !errors.As(err, &m) || m.Number != 6106 { // no longer active
			require.NoError(s.t, err)
		}
	})
}

// testEnds runs attacks and ends each of them.
func testEnds(t *testing.T, list []attack, end func(s *attacked, cut func(), spid int)) {
	s := newAttackedServer(t)
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			c := newAttackClient(t, s)
			c.send(a.text)
			time.Sleep(attackTime())
			inTime(t, "the end", func() { end(s, c.close, c.spid) })
			inTime(t, "the session", func() {
				for selectInt(t, s.sa, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = "+strconv.Itoa(c.spid)) > 0 {
					time.Sleep(time.Millisecond)
				}
			})
		})
	}
}

// TestAttacksTakeNoMemory checks that attacks, one after another and two at once, keep the heap
// within the server's limit and release their memory.
func TestAttacksTakeNoMemory(t *testing.T) {
	s := newAttackedServer(t)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 * attackMemory))
	list := chosen(3, 0)
	for i, a := range list {
		t.Run(a.name, func(t *testing.T) {
			debug.FreeOSMemory()
			w := watchMemory()
			ctx, cancel := context.WithTimeout(t.Context(), 3*attackTime())
			defer cancel()
			ended := make(chan error, 2)
			for _, text := range []string{a.text, list[(i+4)%len(list)].text} {
				conn, _ := s.bob()
				go func() {
					ended <- runAttack(ctx, conn, text)
					_ = conn.Close() // the driver may have dropped it
				}()
			}
			inTime(t, "both attacks", func() { <-ended; <-ended })
			inTime(t, "the pool", func() {
				for s.engine.(instance).Pool().Used() > attackMemory/64 {
					time.Sleep(time.Millisecond)
				}
			})
			heap, resident := w.stop()
			t.Logf("heap %d MB, resident %d MB more than before", heap>>20, resident>>20)
			// Garbage counts too: the heap may be twice the memory in use.
			require.Less(t, heap, int64(2*attackMemory))
			require.Less(t, resident, int64(3*attackMemory))
		})
	}
}

// memoryWatch samples the process's memory.
type memoryWatch struct {
	quit             chan struct{}
	done             chan struct{}
	heap, resident   int64 // the most
	heap0, resident0 int64 // at the start
}

// watchMemory starts to sample.
func watchMemory() *memoryWatch {
	w := &memoryWatch{quit: make(chan struct{}), done: make(chan struct{})}
	w.heap0, w.resident0 = memoryNow()
	go func() {
		defer close(w.done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			heap, resident := memoryNow()
			w.heap, w.resident = max(w.heap, heap), max(w.resident, resident)
			select {
			case <-tick.C:
			case <-w.quit:
				return
			}
		}
	}()
	return w
}

// stop returns the maximum growth of memory since the start.
func (w *memoryWatch) stop() (heap, resident int64) {
	close(w.quit)
	<-w.done
	return w.heap - w.heap0, w.resident - w.resident0
}

// memoryNow returns the size of the heap and of the process in memory (0 if the system does not
// report it).
func memoryNow() (heap, resident int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	heap = int64(sample[0].Value.Uint64())
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			resident = pages * int64(os.Getpagesize())
		}
	}
	return heap, resident
}

// attackClient sends one text and never reads an answer, like a client that has stopped.
type attackClient struct {
	t    *testing.T
	conn net.Conn
	out  *tds.MessageWriter
	spid int
}

// newAttackClient logs in.
func newAttackClient(t *testing.T, s *attacked) *attackClient {
	t.Helper()
	conn, err := s.Dialer().DialContext(t.Context(), "", "")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	c := &attackClient{t: t, conn: conn, out: tds.NewMessageWriter(conn, tds.DefaultPacketSize)}
	c.message(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "bob", Password: "Secret-0", App: "attack"}))
	h, _, err := tds.ReadMessage(conn, 1<<20)
	require.NoError(t, err)
	c.spid = int(h.SPID)
	return c
}

// message sends a message.
func (c *attackClient) message(kind tds.PacketType, payload []byte) {
	c.t.Helper()
	c.out.Begin(kind)
	_, err := c.out.Write(payload)
	require.NoError(c.t, err)
	require.NoError(c.t, c.out.End())
}

// send sends a batch.
func (c *attackClient) send(text string) {
	c.t.Helper()
	c.message(tds.PacketBatch, tdsclient.AppendBatch(nil, &tds.Batch{Text: text}, tds.Version74))
}

// close breaks the connection off.
func (c *attackClient) close() { c.conn.Close() }

// TestMessagesThatNeverEndTakeNoMemory checks that an unfinished message counts against the
// session's memory, whatever the size of its packets; that a message that exceeds the memory gets
// an error at its end; and that the session continues.
func TestMessagesThatNeverEndTakeNoMemory(t *testing.T) {
	s := newAttackedServer(t)
	before := s.engine.(instance).Pool().Used()
	c := newAttackClient(t, s)
	packet := func(eom bool, payload []byte) {
		h := tds.Header{Type: tds.PacketBatch}
		if eom {
			h.Status = tds.StatusEOM
		}
		_, err := c.conn.Write(tds.AppendPacket(nil, h, payload))
		require.NoError(t, err)
	}
	debug.FreeOSMemory()
	w := watchMemory()
	for range 200_000 {
		packet(false, nil)
	}
	heap, _ := w.stop()
	require.Less(t, heap, int64(32<<20), "empty packets")
	whole := tdsclient.AppendBatch(nil, &tds.Batch{Text: "SELECT 1 --" + strings.Repeat("x", 20<<20)}, tds.Version74)
	const most = 30_000
	for len(whole) > most {
		packet(false, whole[:most])
		whole = whole[most:]
	}
	used := s.engine.(instance).Pool().Used() - before
	require.Greater(t, used, int64(39<<20), "an unfinished message counts")
	w = watchMemory()
	large := make([]byte, most)
	for range 200 << 20 / most {
		packet(false, large)
	}
	packet(true, whole)
	h, b, err := tds.ReadMessage(c.conn, 1<<20)
	require.NoError(t, err)
	require.Equal(t, tds.PacketReply, h.Type)
	require.Contains(t, string(b), "\xaa", "an error")
	require.Contains(t, string(b), "\xbd\x02\x00\x00", "701")
	heap, _ = w.stop()
	require.Less(t, heap, int64(2*attackMemory))
	require.Less(t, s.engine.(instance).Pool().Used()-before, int64(1<<20), "it was given back")
	c.send("SELECT 2")
	_, b, err = tds.ReadMessage(c.conn, 1<<20)
	require.NoError(t, err)
	require.NotContains(t, string(b), "\xaa")
}
