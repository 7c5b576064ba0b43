package tsqld

import (
	"context"
	"database/sql"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// encryptions are the driver's settings for encryption.
var encryptions = []string{"encrypt=disable", "encrypt=false&TrustServerCertificate=true", "encrypt=true&TrustServerCertificate=true",
	"encrypt=strict"}

// trust adds the server's certificate to the options of a strict connection, which the driver
// requires.
func (f *fixture) trust(t *testing.T, options string) string {
	t.Helper()
	if !strings.Contains(options, "strict") {
		return options
	}
	cert, err := f.Certificate()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "server.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), 0o600))
	return options + "&certificate=" + url.QueryEscape(file) + "&hostNameInCertificate=localhost"
}

func TestLoginOverPipe(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	for _, e := range encryptions {
		for _, size := range []string{"512", "4096", "32767"} {
			db := f.dial(t, f.trust(t, e)+"&packet+size="+size)
			require.Equal(t, 5, selectInt(t, db, "select 5"), e)
			var n int
			require.NoError(t, db.QueryRowContext(t.Context(), "rows 200; select 3").Scan(&n, new(string)), "%s %s", e, size)
		}
	}
}

func TestLoginOverTCP(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- f.Serve(l) }()
	for _, e := range encryptions {
		db, err := sql.Open("sqlserver", fmt.Sprintf("sqlserver://sa:secret@%s?%s", l.Addr(), f.trust(t, e)))
		require.NoError(t, err)
		require.Equal(t, 5, selectInt(t, db, "select 5"), e)
		require.NoError(t, db.Close())
	}
	db, err := sql.Open("sqlserver", fmt.Sprintf("sqlserver://sa:wrong@%s?encrypt=disable", l.Addr()))
	require.NoError(t, err)
	require.Equal(t, int32(18456), number(db.PingContext(t.Context())))
	require.NoError(t, db.Close())
	require.NoError(t, f.Close(t.Context()))
	require.ErrorIs(t, <-served, ErrServerClosed)
}

func TestLoginFieldsReachTheSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	db := f.dial(t, "encrypt=true&TrustServerCertificate=true&app+name=my+app&workstation+id=ws&database=d&packet+size=32767")
	var app, host, name string
	var size int
	require.NoError(t, db.QueryRowContext(t.Context(), "app 1").Scan(&app, &host, &name, &size))
	require.Equal(t, []string{"my app", "ws", "d"}, []string{app, host, name})
	require.Equal(t, 16383, size, "a packet fits a TLS record")
}

func TestLoginInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{})
		start := time.Now()
		c := f.oneConn(t)
		require.Equal(t, 1, selectInt(t, c, "select 1"))
		// Not a deadline: the driver would take it for a broken connection.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		_, err := c.ExecContext(ctx, "wait 1")
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Hour, time.Since(start), "the bubble's clock runs")
		require.Equal(t, 2, selectInt(t, c, "select 2"), "the connection is usable after an attention")
	})
}

func TestAttention(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	f.engine.started, f.engine.ended = make(chan string, 10), make(chan error, 10)
	c := f.oneConn(t)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-f.engine.started
			cancel()
		}()
		_, err := c.ExecContext(ctx, "wait 1")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, <-f.engine.ended, ErrAttention)
	}
	require.Equal(t, 2, selectInt(t, c, "select 2"))
}

func TestAttentionWhileRowsAreSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := f.oneConn(t)
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		rows, err := c.QueryContext(ctx, "rows 1000000")
		require.NoError(t, err)
		for range 100 {
			require.True(t, rows.Next())
		}
		cancel()
		for rows.Next() {
		}
		require.ErrorIs(t, rows.Err(), context.Canceled)
		require.NoError(t, rows.Close())
	}
	require.Equal(t, 2, selectInt(t, c, "select 2"))
}

func TestClientThatDisappearsCancelsItsBatch(t *testing.T) {
	t.Parallel()
	ends := make(chan error, 1)
	f := newFixture(t, Config{OnEnd: func(_ net.Addr, err error) { ends <- err }})
	f.engine.started, f.engine.ended = make(chan string, 1), make(chan error, 1)
	var client net.Conn
	connector, err := mssql.NewConnector("sqlserver://sa:secret@tsqld?encrypt=disable")
	require.NoError(t, err)
	connector.Dialer = dialerFunc(func(ctx context.Context, network, addr string) (net.Conn, error) {
		client, err = f.Dialer().DialContext(ctx, network, addr)
		return client, err
	})
	db := sql.OpenDB(connector)
	defer db.Close()
	done := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(context.Background(), "wait 1")
		done <- err
	}()
	<-f.engine.started
	client.Close()
	require.ErrorIs(t, <-f.engine.ended, ErrClientGone)
	require.Error(t, <-done)
	<-ends
}

// dialerFunc is a dialer with a host name.
type dialerFunc func(ctx context.Context, network, addr string) (net.Conn, error)

func (d dialerFunc) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d(ctx, network, addr)
}

func (dialerFunc) HostName() string { return pipeHost }

func TestErrorsAndMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := f.oneConn(t)
	_, err := c.ExecContext(t.Context(), "print a; error 1; print b; error 2")
	require.Equal(t, int32(50001), number(err))
	var failed mssql.Error
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.All, 1)
	require.Equal(t, pipeHost, failed.ServerName)
	_, err = c.ExecContext(t.Context(), "nonsense 1")
	require.Equal(t, int32(2812), number(err))
	res, err := c.ExecContext(t.Context(), "affect 3; affect 4")
	require.NoError(t, err)
	n, err := res.RowsAffected()
	require.NoError(t, err)
	require.Equal(t, int64(7), n)
	rows, err := c.QueryContext(t.Context(), "select 1; affect 2; select 3")
	require.NoError(t, err)
	var got []int
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			var n int
			require.NoError(t, rows.Scan(&n))
			got = append(got, n)
		}
	}
	require.NoError(t, rows.Close())
	require.Equal(t, []int{1, 3}, got)
}

func TestFatalErrorsEndTheConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	for _, statement := range []string{"fatal 1", "misfit 1"} {
		c := f.oneConn(t)
		_, err := c.ExecContext(t.Context(), statement)
		require.Error(t, err)
		require.Error(t, c.PingContext(t.Context()))
	}
}

func TestSilentEndsAreExplained(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := newRawClient(t, f, tds.Version74)
	c.batch("killed 1")
	require.Equal(t, []int32{596}, c.answer().numbers)
	c.closed()
}

func TestPanicsAreReported(t *testing.T) {
	t.Parallel()
	told := make(chan any, 1)
	f := newFixture(t, Config{OnPanic: func(v any, _ []byte) { told <- v }})
	c := f.oneConn(t)
	_, err := c.ExecContext(t.Context(), "select 1; panic")
	require.Error(t, err)
	require.Equal(t, "scripted", <-told)
	require.Equal(t, 4, selectInt(t, f.dial(t, "encrypt=disable"), "select 4"), "the server goes on")
}

func TestReset(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	db := f.dial(t, "encrypt=disable")
	db.SetMaxOpenConns(1)
	require.Equal(t, 1, selectInt(t, db, "resets 1"), "the driver resets a new connection, too")
	require.Equal(t, 2, selectInt(t, db, "resets 1"), "the pool resets what it reuses")
	_, err := db.ExecContext(t.Context(), "begin 1")
	require.NoError(t, err)
	require.Equal(t, 4, selectInt(t, db, "resets 1"), "a reset ends the transaction that was left open")
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := f.oneConn(t)
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
		tx, err := c.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSnapshot})
		require.NoError(t, err)
		require.Equal(t, 1, selectInt(t, tx, "select 1"))
		require.NoError(t, end(tx))
		require.Equal(t, 1, selectInt(t, c, "select 1"))
	}
	_, err := c.ExecContext(t.Context(), "begin 1")
	require.NoError(t, err)
	require.Equal(t, 1, selectInt(t, c, "select 1"), "the client learned the descriptor")
}

func TestFlushShowsWhatThereIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := f.oneConn(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows, err := c.QueryContext(ctx, "select 8; flush; wait")
	require.NoError(t, err)
	require.True(t, rows.Next(), "before the batch has ended")
	cancel()
	rows.Close()
	require.Equal(t, 2, selectInt(t, c, "select 2"))
}

func TestCallsAndTypes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := f.oneConn(t)
	when := time.Date(2020, 2, 29, 13, 14, 15, 123456700, time.UTC)
	long := strings.Repeat("日", 5000)
	in := []any{int64(-5), true, 1.25, "日😀", []byte{1, 2}, when, nil, long, mssql.VarChar("abc"), mssql.DateTime1(when)}
	var n int64
	var b bool
	var x float64
	var s, l, v string
	var raw []byte
	var at, dt time.Time
	var null any
	require.NoError(t, c.QueryRowContext(t.Context(), "x", in...).Scan(&n, &b, &x, &s, &raw, &at, &null, &l, &v, &dt))
	require.Equal(t, []any{int64(-5), true, 1.25, "日😀", []byte{1, 2}, long, "abc"}, []any{n, b, x, s, raw, l, v})
	require.Nil(t, null)
	require.True(t, when.Equal(at), at)
	require.WithinDuration(t, when, dt, 2*time.Millisecond)

	var status mssql.ReturnStatus
	out := "in"
	num := int64(3)
	_, err := c.ExecContext(t.Context(), "proc", &status, sql.Named("s", sql.Out{Dest: &out, In: true}), sql.Named("n", sql.Out{Dest: &num, In: true}))
	require.NoError(t, err)
	require.Equal(t, mssql.ReturnStatus(7), status)
	require.Equal(t, "in", out)
	require.Equal(t, int64(3), num)

	type item struct {
		A int64
		B *string
	}
	rows, err := c.QueryContext(t.Context(), "proc", sql.Named("t", mssql.TVP{TypeName: "dbo.list", Value: []item{{A: 1}, {A: 2, B: &out}, {A: 3}}}))
	require.NoError(t, err)
	var counts []int
	for rows.Next() {
		var n int
		require.NoError(t, rows.Scan(&n))
		counts = append(counts, n)
	}
	require.NoError(t, rows.Close())
	require.Equal(t, []int{3, 2}, counts)
}

func TestInvalidValuesLeaveTheConnectionAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := f.oneConn(t)
	var x float64
	err := c.QueryRowContext(t.Context(), "x", nan()).Scan(&x)
	require.Equal(t, int32(8023), number(err))
	require.Equal(t, 2, selectInt(t, c, "select 2"))
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func TestSlowReader(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := f.oneConn(t)
	rows, err := c.QueryContext(t.Context(), "rows 2000; select 1")
	require.NoError(t, err)
	n := 0
	for rows.Next() {
		n++
	}
	require.Equal(t, 2000, n)
	require.True(t, rows.NextResultSet())
	require.NoError(t, rows.Close())
}

func TestFaults(t *testing.T) {
	t.Parallel()
	var answer func(Point) error
	f := newFixture(t, Config{Fault: func(p Point) error { return answer(p) }})
	at := func(kind PointKind, request string, err error) func(Point) error {
		return func(p Point) error {
			if p.Kind == kind && p.Request == request {
				return err
			}
			return nil
		}
	}
	dead := mserr.New(1205, 13, "scripted")

	answer = at(BeforeLogin, "", mserr.New(4060, 11, "scripted"))
	require.Equal(t, int32(18456), number(f.dial(t, "encrypt=disable").PingContext(t.Context())), "the error that follows 4060")
	answer = at(BeforeStatement, "select 1", dead)
	c := f.oneConn(t)
	_, err := c.ExecContext(t.Context(), "select 1")
	require.Equal(t, int32(1205), number(err))
	require.Equal(t, 2, selectInt(t, c, "select 2"), "the connection goes on")
	answer = at(MidRow, "rows 10", dead)
	rows, err := c.QueryContext(t.Context(), "rows 10")
	if err == nil {
		for rows.Next() {
		}
		err = rows.Err()
		rows.Close()
	}
	require.Equal(t, int32(1205), number(err))
	answer = at(AfterCommitBeforeReply, "affect 1", ErrClose)
	_, err = c.ExecContext(t.Context(), "affect 1")
	require.Error(t, err)
	require.Zero(t, number(err))
	ctx, cancel := context.WithCancel(t.Context())
	answer = func(p Point) error {
		if p.Kind != BeforeStatement || p.Request != "select 1" {
			return nil
		}
		cancel()
		<-p.Context.Done()
		return context.Cause(p.Context)
	}
	c = f.oneConn(t)
	_, err = c.ExecContext(ctx, "select 1")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, selectInt(t, c, "select 2"), "a stall ends with an attention")
}

func TestCloseLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	f.engine.started, f.engine.ended = make(chan string, 1), make(chan error, 1)
	idle := f.oneConn(t)
	busy := f.oneConn(t)
	require.NoError(t, idle.PingContext(t.Context()))
	<-f.engine.started
	result := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := busy.ExecContext(ctx, "wait 1")
		result <- err
	}()
	<-f.engine.started
	closed := make(chan error, 1)
	go func() { closed <- f.Close(context.Background()) }()
	<-f.closing
	_, err := f.Dialer().DialContext(t.Context(), "", "")
	require.ErrorIs(t, err, ErrServerClosed)
	select {
	case <-closed:
		t.Fatal("closed before the request ended")
	default:
	}
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)
	require.NoError(t, <-closed)
}

func TestCloseCancelsAtItsLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	f.engine.started, f.engine.ended = make(chan string, 1), make(chan error, 1)
	c := f.oneConn(t)
	go func() {
		_, _ = c.ExecContext(context.Background(), "wait 1")
	}()
	<-f.engine.started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, f.Close(ctx))
	require.ErrorIs(t, <-f.engine.ended, ErrServerClosed)
}

func TestRecordHidesPasswords(t *testing.T) {
	t.Parallel()
	packets := make(chan []byte, 1000)
	f := newFixture(t, Config{Record: func(_ uint64, fromClient bool, p []byte) {
		if fromClient {
			packets <- append([]byte(nil), p...)
		}
	}})
	require.Equal(t, 1, selectInt(t, f.dial(t, "encrypt=true&TrustServerCertificate=true"), "select 1"))
	logins := 0
	for len(packets) > 0 {
		if p := <-packets; p[0] == 0x10 {
			logins++
			require.Equal(t, make([]byte, len(p)-8), p[8:])
		}
	}
	require.Equal(t, 1, logins)
}
