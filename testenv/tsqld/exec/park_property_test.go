package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// writersSchema has unique keys in two collations, foreign keys with and without actions, a table
// without keys, a trigger and identity values.
const writersSchema = `CREATE TABLE p (id int PRIMARY KEY, v int NOT NULL)
CREATE TABLE t (id int PRIMARY KEY, k varchar(20) COLLATE Latin1_General_CI_AS NULL UNIQUE, p int NULL REFERENCES p(id), v int NOT NULL, r rowversion)
CREATE TABLE c (n varchar(10) COLLATE Latin1_General_BIN2 PRIMARY KEY, p int NOT NULL REFERENCES p(id) ON DELETE CASCADE, v int NOT NULL)
CREATE TABLE h (a int NOT NULL, u int NOT NULL, v int NOT NULL)
CREATE TABLE l (i bigint IDENTITY PRIMARY KEY, s varchar(40) NOT NULL)
CREATE TABLE a (id int NOT NULL, n int NOT NULL)`

// writersTrigger is a trigger of writersSchema.
const writersTrigger = `CREATE TRIGGER tr ON t AFTER UPDATE AS INSERT a SELECT id, v FROM inserted`

// writersState are the queries whose results are compared.
var writersState = []string{
	"SELECT id, v FROM p ORDER BY id", "SELECT id, k, p, v FROM t ORDER BY id", "SELECT n, p, v FROM c ORDER BY n",
	"SELECT a, u, v FROM h ORDER BY u", "SELECT s FROM l ORDER BY s", "SELECT id, n FROM a ORDER BY id, n",
	"SELECT COUNT(*) FROM (SELECT DISTINCT i FROM l) x", "SELECT COUNT(*) FROM (SELECT DISTINCT r FROM t) x",
}

// writer is one of the sessions of TestRandomWriters.
type writer struct {
	n       int
	s       *Session
	done    chan string // the answer to the running request
	running string      // statement of the running request; "" if there is none
	open    bool        // a transaction is open
	effects []string    // statements that repeat the effects of the open transaction
	saved   int         // number of effects before SAVE TRAN s; -1 without the savepoint
}

// request starts a request and waits until it has ended or waits for another session.
func (w *writer) request(text string) {
	w.running = text
	go func() {
		var r recorder
		if err := w.s.Batch(context.Background(), text, &r); err != nil {
			w.done <- "error: " + err.Error()
			return
		}
		w.done <- r.b.String()
	}()
	synctest.Wait()
}

// rows matches the rows of an answer whose only column is a number or name.
var rows = regexp.MustCompile(`(?m)^(-?\d+|n\d+|N\d+)$`)

// TestRandomWriters: sessions with open transactions change rows of the same tables, one request at
// a time. Those that would touch a row or key of another transaction wait. The committed
// transactions, executed one after the other in the order of their commits, have the same result,
// and no two sessions wait for each other.
func TestRandomWriters(t *testing.T) {
	for i := range max(*propertyCount/6, 1) {
		seed := *propertySeed*1_000_000 + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomWriters(t, seed) })
		})
	}
}

func randomWriters(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	inst, err := New(session.Config{SAPassword: "secret", OnError: func(err error) { t.Errorf("%v", err) }})
	require.NoError(t, err)
	defer func() { require.NoError(t, inst.Close()) }()
	setup := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	run := func(text string) string {
		var r recorder
		require.NoError(t, setup.Batch(context.Background(), text, &r))
		return r.b.String()
	}
	for _, d := range []string{"work", "serial"} {
		run("CREATE DATABASE " + d)
		out := run("USE " + d + "\n" + writersSchema)
		out += run(writersTrigger)
		out += run("INSERT p SELECT value, 0 FROM GENERATE_SERIES(1, 4); INSERT t (id, k, p, v) SELECT value, CONCAT('k', value), value, 0 FROM GENERATE_SERIES(1, 4); INSERT h SELECT value, -value, 0 FROM GENERATE_SERIES(1, 3); INSERT c VALUES ('n1', 3, 0)")
		require.NotRegexp(t, "Level 1[1-9]", out)
		run("USE master")
	}
	all := make([]*writer, 2+rnd.IntN(3))
	for i := range all {
		all[i] = &writer{n: i, s: openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: "work"}), done: make(chan string, 1)}
	}
	var committed []string
	var history []string
	waits := 0
	settle := func(w *writer) bool {
		select {
		case out := <-w.done:
			history = append(history, fmt.Sprintf("%d: %s => %s", w.n, w.running, strings.ReplaceAll(strings.TrimSpace(out), "\n", "; ")))
			w.took(t, out, &committed)
			w.running = ""
			return true
		default:
			return false
		}
	}
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(history, "\n"))
		}
	}()
	for step := range 80 {
		var free []*writer
		for _, w := range all {
			if w.running == "" || settle(w) {
				free = append(free, w)
			}
		}
		require.NotEmpty(t, free, "all sessions wait")
		w := free[rnd.IntN(len(free))]
		w.request(w.next(rnd, step > 65))
		if !settle(w) {
			waits++
			history = append(history, fmt.Sprintf("%d: %s waits", w.n, w.running))
		}
	}
	for range 10 * len(all) {
		for _, w := range all {
			synctest.Wait()
			if (w.running == "" || settle(w)) && w.open {
				w.request("COMMIT")
				settle(w)
			}
		}
	}
	for _, w := range all {
		require.Empty(t, w.running, "session %d waits for ever", w.n)
		require.NoError(t, w.s.Close())
	}
	run("USE serial")
	for _, effect := range committed {
		if out := run(effect); strings.Contains(out, "Msg") || strings.Contains(out, "(0)") {
			t.Errorf("serial: %s: %s", effect, out)
		}
	}
	for _, q := range writersState {
		run("USE serial")
		want := run(q)
		run("USE work")
		require.Equal(t, want, run(q), q)
	}
	require.NoError(t, setup.Close())
	t.Logf("seed %d: %d sessions, %d statements committed, %d waits", seed, len(all), len(committed), waits)
}

// took takes the answer of a request.
func (w *writer) took(t *testing.T, out string, committed *[]string) {
	text := w.running
	if strings.Contains(out, "error: ") || strings.Contains(out, "Msg 8") || strings.Contains(out, "Msg 3902") {
		t.Errorf("session %d: %s: %s", w.n, text, out)
	}
	switch {
	case text == "BEGIN TRAN":
		w.open, w.effects, w.saved = true, nil, -1
		return
	case text == "SAVE TRAN s" && w.open && !strings.Contains(out, "Msg "):
		w.saved = len(w.effects)
		return
	case text == "ROLLBACK TRAN s" && w.saved >= 0 && !strings.Contains(out, "Msg "):
		w.effects = w.effects[:w.saved]
		return
	case strings.Contains(out, "Msg 1205"), text == "ROLLBACK":
		w.open, w.effects = false, nil
		return
	case text == "COMMIT":
		w.open = false
		*committed = append(*committed, w.effects...)
		w.effects = nil
		return
	case strings.Contains(out, "Msg "):
		return
	}
	var effects []string
	switch {
	case strings.HasPrefix(text, "DECLARE @x"):
		if !strings.HasSuffix(out, "[tv int]\n2\n(1)\n") {
			t.Errorf("the table variable has lost rows: %s", out)
		}
		if strings.Contains(out, "(1)\n[tv") {
			_, change, _ := strings.Cut(text, "; ")
			change, _, _ = strings.Cut(change, "; ")
			effects = []string{change}
		}
	case strings.HasPrefix(text, "SELECT"), strings.Contains(text, " TRAN s"):
	case strings.Contains(text, "OUTPUT"): // of the keys of the changed rows
		at := strings.Index(text, " OUTPUT ")
		where, key := strings.Index(text, " WHERE "), "id"
		if strings.Contains(text, "deleted.n") || strings.Contains(text, "inserted.n") {
			key = "n"
		}
		if strings.Contains(text, ".u WHERE") {
			key = "u"
		}
		for _, id := range rows.FindAllString(out, -1) {
			effects = append(effects, fmt.Sprintf("%s WHERE %s = '%s'", text[:at], key, id))
		}
		if where < 0 {
			t.Errorf("no WHERE in %s", text)
		}
	case !strings.Contains(out, "(0)"):
		effects = []string{text}
	}
	if w.open {
		w.effects = append(w.effects, effects...)
	} else {
		*committed = append(*committed, effects...)
	}
}

// next returns the next statement of a session.
func (w *writer) next(rnd *rand.Rand, ending bool) string {
	switch {
	case w.open && (ending || rnd.IntN(6) == 0):
		if rnd.IntN(4) == 0 {
			return "ROLLBACK"
		}
		return "COMMIT"
	case !w.open && !ending && rnd.IntN(3) > 0:
		return "BEGIN TRAN"
	}
	id := func() int { return 1 + rnd.IntN(5) }
	k := func() string {
		return []string{"'k%d'", "'K%d'", "'k%d '", "NULL"}[rnd.IntN(4)]
	}
	key := func() string {
		f := k()
		if f == "NULL" {
			return f
		}
		return fmt.Sprintf(f, id())
	}
	list := []string{
		fmt.Sprintf("INSERT p VALUES (%d, 0)", id()),
		fmt.Sprintf("UPDATE p SET v += 1 WHERE id = %d", id()),
		fmt.Sprintf("DELETE p OUTPUT deleted.id WHERE id = %d", id()),
		fmt.Sprintf("INSERT t (id, k, p, v) VALUES (%d, %s, %d, 0)", id(), key(), id()),
		fmt.Sprintf("INSERT t (id, k, p, v) VALUES (%d, %s, NULL, 0)", id(), key()),
		fmt.Sprintf("UPDATE t SET v += 1 OUTPUT inserted.id WHERE v %% 2 = %d", rnd.IntN(2)),
		fmt.Sprintf("UPDATE t SET k = %s WHERE id = %d", key(), id()),
		fmt.Sprintf("UPDATE t SET p = %d WHERE id = %d", id(), id()),
		fmt.Sprintf("UPDATE t SET id = %d WHERE id = %d", id(), id()),
		fmt.Sprintf("DELETE t OUTPUT deleted.id WHERE id = %d", id()),
		fmt.Sprintf("INSERT c VALUES ('%s%d', %d, 0)", []string{"n", "N"}[rnd.IntN(2)], id(), id()),
		fmt.Sprintf("UPDATE c SET v += 1 OUTPUT inserted.n WHERE p = %d", id()),
		fmt.Sprintf("DELETE c OUTPUT deleted.n WHERE p = %d", id()),
		fmt.Sprintf("INSERT h VALUES (%d, %d, 0)", id(), rnd.IntN(1_000_000_000)),
		fmt.Sprintf("UPDATE h SET v += 1 OUTPUT inserted.u WHERE a = %d", id()),
		fmt.Sprintf("DELETE h OUTPUT deleted.u WHERE a = %d", id()),
		fmt.Sprintf("SET LOCK_TIMEOUT 0; UPDATE p SET v += 1 WHERE id = %d; SET LOCK_TIMEOUT -1", id()),
		fmt.Sprintf("MERGE p USING (VALUES (%d)) s(id) ON s.id = p.id WHEN MATCHED THEN UPDATE SET v += 1 WHEN NOT MATCHED THEN INSERT VALUES (id, 0);", id()),
		fmt.Sprintf("INSERT l VALUES ('%d-%d')", w.n, rnd.IntN(1000)),
	}
	if w.open && rnd.IntN(8) == 0 {
		return []string{
			"SELECT COUNT(*) FROM t", "SAVE TRAN s", "ROLLBACK TRAN s", "SELECT COUNT(*) FROM p WITH (UPDLOCK)",
			"SELECT id INTO #x FROM p; DROP TABLE #x", "SELECT TOP (1) id FROM p WITH (UPDLOCK, READPAST) ORDER BY id",
			fmt.Sprintf("DECLARE @x TABLE (i int) INSERT @x VALUES (1), (2); UPDATE p SET v += 1 WHERE id = %d; SELECT COUNT(*) tv FROM @x", id()),
			fmt.Sprintf("DECLARE @x TABLE (i int) INSERT @x VALUES (1), (2); UPDATE t SET v += 1 WHERE id = %d; SELECT COUNT(*) tv FROM @x", id()),
		}[rnd.IntN(8)]
	}
	text := list[rnd.IntN(len(list))]
	if strings.HasPrefix(text, "UPDATE t") && strings.Contains(text, "OUTPUT") {
		text = fmt.Sprintf("UPDATE t SET v += 1 WHERE id = %d", id()) // OUTPUT is not allowed beside triggers
	}
	return text
}
