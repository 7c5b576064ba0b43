package tsqld

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// numbers is a query with more rows than the window of a session holds.
func numbers(n int) string {
	return fmt.Sprintf("SELECT ISNULL(CAST(value AS int), 0) n FROM GENERATE_SERIES(1, %d)", n)
}

// ask sends a batch inside a transaction, and waits until its answer begins.
func (c *rawClient) ask(descriptor uint64, text string) {
	c.t.Helper()
	c.within(descriptor, text)
	stream(c).wait()
}

// within sends a batch inside a transaction.
func (c *rawClient) within(descriptor uint64, text string) {
	c.t.Helper()
	c.counted(descriptor, 1, text)
}

// counted is within with a number of unfinished requests.
func (c *rawClient) counted(descriptor uint64, outstanding uint32, text string) {
	c.t.Helper()
	h := tds.Headers{Descriptor: descriptor, Outstanding: outstanding}
	c.send(tds.PacketBatch, tdsclient.AppendBatch(nil, &tds.Batch{Headers: h, Text: text}, c.version))
}

// value returns the value of a query with one int.
func (c *rawClient) value(text string) int32 {
	c.t.Helper()
	c.batch(text)
	a := c.answer()
	require.Empty(c.t, a.numbers, text)
	require.Len(c.t, a.ints, 1, text)
	return a.ints[0]
}

// TestSecondReader: a request runs while the client reads the result of another one, however large
// that result is; both belong to one session.
func TestSecondReader(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	for _, rows := range []int{10, 3000, 50_000} {
		c := connectMultiple(t, f)
		a, b := c.open(), c.open()
		spid := a.value("SELECT ISNULL(CAST(@@SPID AS int), 0) n")
		a.ask(0, numbers(rows))
		for range 3 {
			require.Equal(t, spid, b.value("SELECT ISNULL(CAST(@@SPID AS int), 0) n"))
		}
		b.batch("CREATE TABLE #t (n int NOT NULL); INSERT #t VALUES (7)")
		require.Empty(t, b.answer().numbers)
		answer := a.answer()
		require.Len(t, answer.ints, rows)
		require.EqualValues(t, rows, answer.ints[rows-1])
		require.EqualValues(t, 7, a.value("SELECT n FROM #t"), "top-level temporary tables are those of the session")
	}
}

// TestTheWriterWaitsForItsReader: without another request, a result does not go to the spool.
func TestTheWriterWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newRealServer(t, Config{})
		c := connectMultiple(t, f)
		a := c.open()
		a.ask(0, numbers(50_000))
		time.Sleep(time.Minute)
		require.Equal(t, 4, stream(a).pending(), "the window")
		require.Len(t, a.answer().ints, 50_000)
		c.conn.Close()
		<-c.done
	})
}

// TestManySessions: a session's number can be used again after FIN, and there is a limit.
func TestManySessions(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	c := connectMultiple(t, f)
	for range 300 {
		a := c.open()
		require.EqualValues(t, 5, a.value("SELECT ISNULL(CAST(5 AS int), 0) n"))
		require.NoError(t, a.conn.Close())
		c.next = 0
	}
	for range 128 {
		c.open()
	}
	c.open()
	<-c.done
	require.Error(t, c.err)
}

// TestClosingASessionEndsItsRequest: a FIN cancels the running request, and the other sessions go
// on.
func TestClosingASessionEndsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newRealServer(t, Config{})
		c := connectMultiple(t, f)
		a, b := c.open(), c.open()
		a.batch("WAITFOR DELAY '01:00:00'")
		synctest.Wait()
		b.batch("SELECT ISNULL(CAST(1 AS int), 0) n")
		start := time.Now()
		require.NoError(t, a.conn.Close())
		require.Equal(t, []int32{1}, b.answer().ints)
		require.Less(t, time.Since(start), time.Minute)
		c.conn.Close()
		<-c.done
	})
}

// TestAttentionOfOneSession: an attention cancels the request of its session only, whether that
// runs or waits for its turn.
func TestAttentionOfOneSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newRealServer(t, Config{})
		c := connectMultiple(t, f)
		a, b, d := c.open(), c.open(), c.open()
		a.batch("WAITFOR DELAY '00:10:00'; SELECT ISNULL(CAST(1 AS int), 0) n")
		synctest.Wait()
		b.batch("SELECT ISNULL(CAST(2 AS int), 0) n")
		d.batch("SELECT ISNULL(CAST(3 AS int), 0) n")
		synctest.Wait()
		b.send(tds.PacketAttention, nil)
		b.cut()
		start := time.Now()
		require.Equal(t, []int32{3}, d.answer().ints)
		require.Equal(t, 10*time.Minute, time.Since(start).Round(time.Second), "d waits for its turn")
		require.Equal(t, []int32{1}, a.answer().ints)
		require.EqualValues(t, 4, b.value("SELECT ISNULL(CAST(4 AS int), 0) n"))
		a.batch("WAITFOR DELAY '00:10:00'")
		synctest.Wait()
		a.send(tds.PacketAttention, nil)
		a.cut()
		c.conn.Close()
		<-c.done
	})
}

// TestBatchScopedTransaction: a transaction that a batch begins by text ends with the batch.
func TestBatchScopedTransaction(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	c := connectMultiple(t, f)
	a := c.open()
	a.batch("CREATE TABLE #t (n int NOT NULL); BEGIN TRAN; INSERT #t VALUES (1)")
	answer := a.answer()
	require.Equal(t, []int32{3997}, answer.numbers)
	require.Equal(t, []byte{8, 10}, answer.env)
	a.batch("BEGIN TRAN; INSERT #t VALUES (1); COMMIT")
	require.Empty(t, a.answer().numbers)
	require.EqualValues(t, 1, a.value("SELECT n FROM #t"))
	a.batch("SET IMPLICIT_TRANSACTIONS ON; INSERT #t VALUES (2)")
	require.Equal(t, []int32{3997}, a.answer().numbers)
	a.batch("SET IMPLICIT_TRANSACTIONS OFF")
	require.Empty(t, a.answer().numbers)
	call, err := tdsclient.AppendRPC(nil, tds.Headers{}, []tds.RPC{{Proc: "sp_executesql", Params: []tds.Param{{Type: types.NVarCharMax, Value: "BEGIN TRAN"}}}}, tds.Version74)
	require.NoError(t, err)
	a.send(tds.PacketRPC, call)
	require.Contains(t, a.answer().numbers, int32(3997))
	require.EqualValues(t, 0, a.value("SELECT ISNULL(@@TRANCOUNT, 0) n"))
}

// begin begins a transaction by a request of the transaction manager, and returns the answer.
func (c *rawClient) begin(outstanding uint32) *rawAnswer {
	c.t.Helper()
	return c.manage(tds.Transaction{Headers: tds.Headers{Outstanding: outstanding}, Request: tds.TranBegin})
}

// manage sends a request of the transaction manager.
func (c *rawClient) manage(r tds.Transaction) *rawAnswer {
	c.t.Helper()
	c.send(tds.PacketTransaction, tdsclient.AppendTransaction(nil, &r, c.version))
	return c.answer()
}

// TestTransactionsOfSeveralRequests: all requests of a transaction of the client use it at once; it
// cannot begin or end while others are pending.
func TestTransactionsOfSeveralRequests(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	c := connectMultiple(t, f)
	a, b := c.open(), c.open()
	a.batch("CREATE TABLE #t (n int NOT NULL)")
	require.Empty(t, a.answer().numbers)

	a.ask(0, numbers(50_000))
	require.Equal(t, []int32{3988}, b.begin(1).numbers, "the answer to a is not sent")
	require.Len(t, a.answer().ints, 50_000)
	require.Equal(t, []int32{3988}, b.begin(2).numbers, "the client has not read another answer")

	answer := b.begin(1)
	require.Equal(t, []byte{8}, answer.env)
	tran := answer.descriptor
	a.batch("INSERT #t VALUES (1)")
	require.Equal(t, []int32{3989}, a.answer().numbers)
	a.within(tran, "INSERT #t VALUES (1)")
	require.Empty(t, a.answer().numbers)
	a.ask(tran, "INSERT #t VALUES (2); "+numbers(50_000))
	b.within(tran, "INSERT #t VALUES (3)")
	require.Empty(t, b.answer().numbers)
	require.Len(t, a.answer().ints, 50_000)
	require.Equal(t, []byte{9}, b.manage(tds.Transaction{Headers: tds.Headers{Descriptor: tran}, Request: tds.TranCommit}).env)
	require.EqualValues(t, 3, b.value("SELECT ISNULL(COUNT(*), 0) n FROM #t"))

	for _, how := range []func(tran uint64) *rawAnswer{
		func(tran uint64) *rawAnswer {
			return b.manage(tds.Transaction{Headers: tds.Headers{Descriptor: tran}, Request: tds.TranCommit})
		},
		func(tran uint64) *rawAnswer {
			return b.manage(tds.Transaction{Headers: tds.Headers{Descriptor: tran}, Request: tds.TranSave, Name: "s"})
		},
		func(tran uint64) *rawAnswer { b.within(tran, "COMMIT; PRINT 'not reached'"); return b.answer() },
		func(tran uint64) *rawAnswer { b.within(tran, "SAVE TRAN s"); return b.answer() },
	} {
		tran := b.begin(1).descriptor
		a.ask(tran, numbers(50_000))
		answer := how(tran)
		require.Equal(t, []int32{3981}, answer.numbers)
		require.Equal(t, []byte{10}, answer.env, "the transaction is rolled back")
		b.batch("PRINT 'x'")
		require.Equal(t, []int32{3989}, b.answer().numbers, "until the request of the ended transaction has ended")
		require.Len(t, a.answer().ints, 50_000)
		b.batch("PRINT 'x'")
		require.Equal(t, []int32{0}, b.answer().numbers)
	}
	tran = b.begin(1).descriptor
	b.counted(tran, 2, "COMMIT")
	require.Equal(t, []int32{3981}, b.answer().numbers, "the client has not read another answer")

	tran = b.begin(1).descriptor
	a.ask(tran, numbers(50_000))
	require.Equal(t, []byte{10}, b.manage(tds.Transaction{Headers: tds.Headers{Descriptor: tran}, Request: tds.TranRollback}).env)
	require.Len(t, a.answer().ints, 50_000)
	require.EqualValues(t, 0, a.value("SELECT ISNULL(@@TRANCOUNT, 0) n"))
}

// TestResetWithPendingRequests: a reset of the connection must be its only request.
func TestResetWithPendingRequests(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	c := connectMultiple(t, f)
	a, b := c.open(), c.open()
	reset := tds.AppendPacket(nil, tds.Header{Type: tds.PacketBatch, Status: tds.StatusEOM | tds.StatusReset}, tdsclient.AppendBatch(nil, &tds.Batch{Text: "PRINT 'x'"}, tds.Version74))
	_, err := b.conn.Write(reset)
	require.NoError(t, err)
	answer := b.answer()
	require.Equal(t, []byte{18}, answer.env)
	require.Equal(t, []int32{0}, answer.numbers)
	a.ask(0, numbers(50_000))
	_, err = b.conn.Write(reset)
	require.NoError(t, err)
	require.Equal(t, []int32{4001}, b.answer().numbers)
	<-c.done
}

// TestKillWithSeveralRequests: KILL ends the connection with all its sessions.
func TestKillWithSeveralRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newRealServer(t, Config{})
		for _, text := range []string{"", "WAITFOR DELAY '01:00:00'"} {
			c, other := connectMultiple(t, f), newRawClient(t, f, tds.Version74)
			a, b := c.open(), c.open()
			spid := a.value("SELECT ISNULL(CAST(@@SPID AS int), 0) n")
			if text != "" {
				a.batch(text)
				synctest.Wait()
				b.batch("PRINT 'x'")
				synctest.Wait()
			}
			other.batch(fmt.Sprintf("KILL %d", spid))
			require.Empty(t, other.answer().numbers)
			<-c.done
			other.conn.Close()
		}
	})
}

// TestPanicOfOneSession: a panic ends the connection; the sessions do not hang.
func TestPanicOfOneSession(t *testing.T) {
	t.Parallel()
	panics := make(chan any, 1)
	f := newFixture(t, Config{OnPanic: func(v any, _ []byte) { panics <- v }})
	c := connectMultiple(t, f)
	a, b := c.open(), c.open()
	a.batch("panic")
	b.batch("select 1")
	require.Equal(t, "scripted", <-panics)
	<-c.done
}

// TestClosingTheServer: sessions that are idle or waiting for their client do not delay the end of
// a server.
func TestClosingTheServer(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	c := connectMultiple(t, f)
	c.open()
	b := c.open()
	b.value("SELECT ISNULL(CAST(4 AS int), 0) n")
	d := connectMultiple(t, f)
	_ = d // without a session
	require.NoError(t, f.Close(t.Context()))
	<-c.done
	<-d.done
}
