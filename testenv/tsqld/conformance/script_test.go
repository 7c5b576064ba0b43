package conformance

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/tds/strict"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipe dials a server in this process.
type pipe struct{ srv *tsqld.Server }

// DialContext implements mssql.Dialer.
func (p pipe) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return p.srv.Dialer().DialContext(ctx, network, addr)
}

// HostName implements mssql.HostDialer: the name is not resolved.
func (p pipe) HostName() string { return "tsqld" }

// open starts a server with the database "work" and returns a connection to it.
func open(t *testing.T) *sql.Conn {
	t.Helper()
	srv, err := tsqld.New(tsqld.Config{SAPassword: "secret", Record: strict.Watch(t)})
	require.NoError(t, err)
	connector, err := mssql.NewConnector("sqlserver://sa:secret@tsqld?encrypt=disable")
	require.NoError(t, err)
	connector.Dialer = pipe{srv}
	db := sql.OpenDB(connector)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.NoError(t, srv.Close(context.WithoutCancel(t.Context())))
	})
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	_, err = conn.ExecContext(t.Context(), "CREATE DATABASE work")
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "USE work")
	require.NoError(t, err)
	return conn
}

// TestScripts runs testdata/*.txt. Lines that start with "#" outside of batches are remarks.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

// runScript runs the batches of a file on one connection.
func runScript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	conn := open(t)
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	for i := 0; i < len(lines); {
		if lines[i] == "" || strings.HasPrefix(lines[i], "#") {
			out.WriteString(lines[i] + "\n")
			i++
			continue
		}
		at := i + 1
		var batch, want []string
		for ; i < len(lines) && lines[i] != "----"; i++ {
			batch = append(batch, lines[i])
		}
		for i++; i < len(lines) && lines[i] != ""; i++ {
			want = append(want, lines[i])
		}
		got := answer(t.Context(), conn, strings.Join(batch, "\n"))
		fmt.Fprintf(&out, "%s\n----\n%s", strings.Join(batch, "\n"), got)
		if !*update && strings.Join(want, "\n") != strings.TrimRight(got, "\n") {
			t.Errorf("%s:%d:\n%s\n---- want\n%s\n---- got\n%s", file, at, strings.Join(batch, "\n"), strings.Join(want, "\n"), got)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644))
	}
}

// answer runs a batch and writes down what it answers: result sets, counts, messages, errors.
func answer(ctx context.Context, conn *sql.Conn, batch string) string {
	var b strings.Builder
	var messages sqlexp.ReturnMessage
	rows, err := conn.QueryContext(ctx, batch, &messages)
	if err != nil {
		showError(&b, err)
		return b.String()
	}
	defer rows.Close()
	for more := true; more; {
		switch m := messages.Message(ctx).(type) {
		case sqlexp.MsgNotice:
			showNotice(&b, m.Message)
		case sqlexp.MsgError:
			showError(&b, m.Error)
		case sqlexp.MsgRowsAffected:
			fmt.Fprintf(&b, "(%d)\n", m.Count)
		case sqlexp.MsgNext:
			if err := showRows(&b, rows); err != nil {
				showError(&b, err)
			}
		case sqlexp.MsgNextResultSet:
			more = rows.NextResultSet()
		}
	}
	if err := rows.Err(); err != nil {
		showError(&b, err)
	}
	return b.String()
}

// showNotice writes what PRINT and RAISERROR with a low severity said.
func showNotice(b *strings.Builder, m fmt.Stringer) {
	var e mssql.Error
	if err, ok := m.(error); ok && errors.As(err, &e) && e.Number != 0 {
		fmt.Fprintf(b, "info %d: %s\n", e.Number, e.Message)
		return
	}
	fmt.Fprintf(b, "print: %s\n", strings.TrimPrefix(m.String(), "mssql: "))
}

// showError writes an error with its number, severity, state, procedure and line.
func showError(b *strings.Builder, err error) {
	var e mssql.Error
	if !errors.As(err, &e) {
		fmt.Fprintf(b, "error: %v\n", err)
		return
	}
	proc := ""
	if e.ProcName != "" {
		proc = " " + e.ProcName
	}
	fmt.Fprintf(b, "Msg %d, Level %d, State %d,%s Line %d: %s\n", e.Number, e.Class, e.State, proc, e.LineNo, e.Message)
}

// showRows writes a result set: its columns with their types, then its rows.
func showRows(b *strings.Builder, rows *sql.Rows) error {
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	heads := make([]string, len(types))
	values, into := make([]any, len(types)), make([]any, len(types))
	for i, c := range types {
		heads[i], into[i] = strings.TrimSpace(c.Name()+" "+typeName(c)), &values[i]
	}
	fmt.Fprintf(b, "[%s]\n", strings.Join(heads, ", "))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		cells := make([]string, len(values))
		for i, v := range values {
			cells[i] = showValue(v, types[i].DatabaseTypeName())
		}
		fmt.Fprintf(b, "%s\n", strings.Join(cells, " | "))
	}
	return nil
}

// typeName prints a column's type.
func typeName(c *sql.ColumnType) string {
	name := strings.ToLower(c.DatabaseTypeName())
	if p, s, ok := c.DecimalSize(); ok {
		return fmt.Sprintf("%s(%d,%d)", name, p, s)
	}
	if n, ok := c.Length(); ok && n < 1<<20 {
		return fmt.Sprintf("%s(%d)", name, n)
	}
	return name
}

// showValue prints a value as it came through the driver.
func showValue(v any, typ string) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool:
		if v {
			return "1"
		}
		return "0"
	case time.Time:
		switch typ {
		case "DATE":
			return v.Format("2006-01-02")
		case "TIME":
			return v.Format("15:04:05.9999999")
		case "DATETIMEOFFSET":
			return v.Format("2006-01-02 15:04:05.9999999 -07:00")
		}
		return v.Format("2006-01-02 15:04:05.9999999")
	case []byte:
		switch typ {
		case "DECIMAL", "MONEY", "SMALLMONEY":
			return string(v)
		case "UNIQUEIDENTIFIER":
			var id mssql.UniqueIdentifier
			if err := id.Scan(v); err != nil {
				return err.Error()
			}
			return id.String()
		}
		return fmt.Sprintf("0x%X", v)
	}
	return fmt.Sprint(v)
}

// ends counts the statements whose end a client is told of.
func ends(ctx context.Context, t *testing.T, conn *sql.Conn, batch string) int {
	t.Helper()
	var messages sqlexp.ReturnMessage
	rows, err := conn.QueryContext(ctx, batch, &messages)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for more := true; more; {
		switch m := messages.Message(ctx).(type) {
		case sqlexp.MsgError:
			require.NoError(t, m.Error)
		case sqlexp.MsgNextResultSet:
			n++
			more = rows.NextResultSet()
		}
	}
	require.NoError(t, rows.Err())
	return n - 1 // the driver adds one at the very end
}
