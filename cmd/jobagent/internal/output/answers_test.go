package output

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/hostile"
)

// give gives a result set of a database to a sink.
func give(t *testing.T, to question.Sink, database string, number int, columns []mssql.Column, rows ...[]driver.Value) {
	t.Helper()
	set, err := to.Begin(targets.NewTarget("s", database, ""), number, columns)
	require.NoError(t, err)
	for _, row := range rows {
		require.NoError(t, set.Row(row))
	}
	require.NoError(t, set.End(nil))
}

// printed returns what answers print in a format.
func printed(t *testing.T, f Format, give func(question.Sink)) string {
	t.Helper()
	var out bytes.Buffer
	a := NewAnswers(&Printer{Stdout: &out, Format: f})
	give(a)
	require.NoError(t, a.Close())
	return out.String()
}

var (
	oneText   = []mssql.Column{{Name: "x", Type: "NVARCHAR"}}
	oneNumber = []mssql.Column{{Name: "x", Type: "INT"}}
)

// Values that could act on a terminal, a spreadsheet or a reader of CSV are shown as what they are.
func TestAnswersOfHostileValues(t *testing.T) {
	t.Parallel()
	values := []string{"a\x1b[2J\u202eb\x00", "=1+1", "line\r\nbreak, \"quoted\"", "+31 6", "-1.5", " blank ", "zo\xeb"}
	all := func(to question.Sink) {
		for _, v := range values {
			give(t, to, "d", 1, oneText, []driver.Value{v})
		}
	}
	require.Equal(t, []string{
		"SERVER  DATABASE  x", `s       d         a\u001b[2J\u202eb\u0000`, "s       d         =1+1", `s       d         line | break, "quoted"`,
		"s       d         +31 6", "s       d         -1.5", "s       d          blank ", "s       d         zo�", "",
	}, strings.Split(printed(t, FormatTable, all), "\n"))
	require.Equal(t, "server_name,database_name,x\r\ns,d,a\x1b[2J\u202eb\x00\r\ns,d,'=1+1\r\ns,d,\"line\r\nbreak, \"\"quoted\"\"\"\r\ns,d,'+31 6\r\n"+
		"s,d,-1.5\r\ns,d,\" blank \"\r\ns,d,zo�\r\n", printed(t, FormatCSV, all))
	lines := strings.Split(printed(t, FormatJSONLines, all), "\n")
	for i, v := range values {
		var row AnswerRow
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &row))
		var got struct{ X string }
		require.NoError(t, json.Unmarshal(row.Row, &got))
		require.Equal(t, strings.ToValidUTF8(v, "�"), got.X)
	}
}

// The rows of other shapes are all there at the end, whether they fit into memory or not, and
// nothing is left on disk.
func TestAnswersOfOtherShapes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const rows = 3000
	text := strings.Repeat("x", 1000)
	all := func(to question.Sink) {
		for i := range rows {
			give(t, to, fmt.Sprint("d", i%7), 1, oneNumber, []driver.Value{int64(i)})
			give(t, to, fmt.Sprint("d", i%7), 1, oneText, []driver.Value{fmt.Sprint(i, text)})
			give(t, to, fmt.Sprint("d", i%7), 2, oneText, []driver.Value{fmt.Sprint(i, text)})
		}
		if runtime.GOOS != "windows" { // an open file keeps its name there
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			require.Empty(t, left, "the file has no name")
		}
	}
	for _, f := range []Format{FormatCSV, FormatTable} {
		parts := strings.Split(strings.ReplaceAll(printed(t, f, all), "\r", ""), "\n\n")
		require.Len(t, parts, 3)
		for i, part := range parts {
			lines := strings.Split(strings.Trim(part, "\n"), "\n")
			head := 1
			if f == FormatTable && i > 0 {
				head = 2
			}
			require.Len(t, lines, rows+head)
			for n := range rows {
				want := fmt.Sprint(n)
				if i > 0 {
					want += text
				}
				require.Contains(t, lines[n+head], want)
			}
		}
	}
}

// Databases cannot fill the memory with result sets that all differ.
func TestAnswersOfTooManyShapes(t *testing.T) {
	t.Parallel()
	printed(t, FormatJSONLines, func(to question.Sink) {
		for i := range maxShapes {
			give(t, to, "d", 1, []mssql.Column{{Name: fmt.Sprint(i), Type: "INT"}}, []driver.Value{int64(i)})
		}
		give(t, to, "d", 1, []mssql.Column{{Name: "0", Type: "BIGINT"}}, []driver.Value{int64(1)})
		_, err := to.Begin(targets.NewTarget("s", "d", ""), 1, oneText)
		var own *question.TargetError
		require.ErrorAs(t, err, &own)
		require.EqualError(t, err, "result set 1: there are more than 2000 kinds of result sets")
	})
}

// An error of writing ends the question.
func TestAnswersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	a := NewAnswers(&Printer{Stdout: brokenWriter{}, Format: FormatJSONLines})
	set, err := a.Begin(targets.NewTarget("s", "d", ""), 1, oneText)
	require.NoError(t, err)
	require.NoError(t, set.Row([]driver.Value{"held back"}))
	require.ErrorIs(t, set.Row([]driver.Value{strings.Repeat("x", heldBytes+1)}), io.ErrClosedPipe)
	require.ErrorIs(t, set.End(nil), io.ErrClosedPipe)
	require.ErrorIs(t, a.Close(), io.ErrClosedPipe)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A row is printed soon, also if no other follows.
func TestAnswersComeSoon(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{FormatJSONLines, FormatCSV, FormatTable} {
		in, out := io.Pipe()
		a := NewAnswers(&Printer{Stdout: out, Format: f})
		seen := make(chan string)
		go func() {
			var text []byte
			for !bytes.Contains(text, []byte("soon")) {
				chunk := make([]byte, 1000)
				n, err := in.Read(chunk)
				if err != nil {
					break
				}
				text = append(text, chunk[:n]...)
			}
			seen <- string(text)
			_, _ = io.Copy(io.Discard, in)
		}()
		set, err := a.Begin(targets.NewTarget("s", "d", ""), 1, oneText)
		require.NoError(t, err)
		require.NoError(t, set.Row([]driver.Value{"soon"}))
		require.Contains(t, <-seen, "soon")
		require.NoError(t, set.End(nil))
		require.NoError(t, a.Close())
		require.NoError(t, out.Close())
	}
}

// The memory stays flat whatever comes back: 10 million small rows, and cells of 1 MB, in 150 MB.
func TestAnswersInFlatMemory(t *testing.T) {
	const bound = 150 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(128 << 20))
	small := bytes.Repeat(hostile.TextRow("a value of some length", "12345"), 100)
	// One NVARCHAR(MAX) column: the length of the value, one chunk, and the end of the chunks.
	const size = 1 << 20
	oneMax := hostile.MaxValue(size)
	description, rowBegin := oneMax[:len(oneMax)-9], oneMax[len(oneMax)-9:]
	large := slices.Concat(rowBegin, hostile.Chunk(bytes.Repeat([]byte("x\x00"), size/2)), hostile.Chunk(nil))
	for name, c := range map[string]struct {
		columns []byte
		rows    []byte
		count   int64 // rows in rows
		total   int64 // of all databases
	}{
		"small": {hostile.Texts(2), small, 100, testenv.Sample[int64](400_000, 10_000_000)},
		"large": {description, large, 1, testenv.Sample[int64](200, 2000)},
	} {
		for _, f := range []Format{FormatJSONLines, FormatCSV, FormatTable, FormatJSON} {
			t.Run(name+" "+string(f), func(t *testing.T) {
				const databases = 100
				packets := c.total / databases / c.count
				server := hostile.New(hostile.Mode{Name: "rows", Serve: func(conn *hostile.Conn) error {
					if err := conn.Login(); err != nil {
						return err
					}
					if _, err := conn.Next(); err != nil {
						return err
					}
					if err := conn.Begin(c.columns); err != nil {
						return err
					}
					for range packets {
						if err := conn.Begin(c.rows); err != nil {
							return err
						}
					}
					return conn.Packet(1, hostile.Done(0x10, uint64(packets*c.count)))
				}})
				defer server.Close()
				set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
				require.NoError(t, err)
				servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: server})
				require.NoError(t, err)
				defer servers.Close()
				var list []targets.Target
				for i := range databases {
					list = append(list, targets.NewTarget("s", fmt.Sprint("d", i), ""))
				}
				peak := watchMemory(t)
				answers := NewAnswers(&Printer{Stdout: io.Discard, Format: f})
				batches, err := mssql.SplitBatches("SELECT 1")
				require.NoError(t, err)
				began := time.Now()
				sum, err := question.Question{Batches: batches}.Ask(t.Context(), servers, list, answers)
				require.NoError(t, errors.Join(err, answers.Close()))
				require.Empty(t, sum.Failures)
				require.Equal(t, packets*c.count*databases, sum.Rows)
				most := peak()
				t.Logf("%d rows in %v: at most %.1f MB", sum.Rows, time.Since(began).Round(time.Millisecond), float64(most)/(1<<20))
				require.Less(t, most, uint64(bound))
			})
		}
	}
}

// watchMemory samples the memory of this process until the function that it returns is called,
// which returns the most.
func watchMemory(t *testing.T) func() uint64 {
	t.Helper()
	var most uint64
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64()-sample[1].Value.Uint64())
			select {
			case <-ticker.C:
			case <-stop:
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return most
	}
}
