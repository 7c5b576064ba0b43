package script

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/golang-sql/sqlexp"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
)

// Session runs the batches of a script, one after the other.
type Session interface {
	// Run runs one batch and returns its result. An error means that the session has ended; the
	// errors of the server are messages of the result.
	Run(ctx context.Context, batch string) (*Result, error)
	// Close ends the session.
	Close() error
}

// Column is a column of a result set.
type Column struct {
	Name    string
	Type    string // as in a declaration: "int", "nvarchar(20)"
	NotNull bool
}

// String returns the column as a transcript shows it.
func (c Column) String() string {
	name := c.Name
	if name == "" {
		name = "(no name)"
	}
	if c.NotNull {
		return name + " " + c.Type + " not null"
	}
	return name + " " + c.Type
}

// Message is a message of a server. Messages of a level above 10 are errors.
type Message struct {
	Number    int32 // 0 for PRINT
	Level     uint8
	State     uint8
	Procedure string // "" for a batch
	Line      int32
	Text      string
}

// String returns the message as a transcript shows it.
func (m Message) String() string {
	if m.Number == 0 && m.Level == 0 {
		return "print: " + m.Text
	}
	procedure := ""
	if m.Procedure != "" {
		procedure = " " + m.Procedure
	}
	return fmt.Sprintf("Msg %d, Level %d, State %d,%s Line %d: %s", m.Number, m.Level, m.State, procedure, m.Line, m.Text)
}

// resultSet is a result set. Its values are formatted.
type resultSet struct {
	columns []Column
	rows    [][]string
}

// letters returns the letters of the columns.
func (s resultSet) letters() (string, error) {
	var b strings.Builder
	for _, c := range s.columns {
		name, _, _ := strings.Cut(c.Type, "(")
		letter, ok := letters[name]
		if !ok {
			return "", fmt.Errorf("column %q has the type %q, for which there is no letter", c.Name, c.Type)
		}
		b.WriteByte(letter)
	}
	return b.String(), nil
}

// Result is what a batch returned. The methods of a Result are called in the order in which the
// server sends.
type Result struct {
	sets       []resultSet
	errors     []Message
	transcript strings.Builder
}

// Columns begins a result set.
func (r *Result) Columns(columns []Column) {
	r.sets = append(r.sets, resultSet{columns: slices.Clone(columns)})
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.String()
	}
	r.Line("[" + strings.Join(heads, ", ") + "]")
}

// Row adds a row to the last result set. The values are texts made by Escape, or "NULL".
func (r *Result) Row(values []string) {
	set := &r.sets[len(r.sets)-1]
	set.rows = append(set.rows, slices.Clone(values))
	r.Line(strings.Join(values, " | "))
}

// Count adds the row count of a statement.
func (r *Result) Count(rows int64) { r.Line(fmt.Sprintf("(%d)", rows)) }

// Message adds a message.
func (r *Result) Message(m Message) {
	if m.Level > 10 {
		r.errors = append(r.errors, m)
	}
	r.Line(m.String())
}

// Line adds a line to the transcript only.
func (r *Result) Line(line string) { r.transcript.WriteString(line + "\n") }

// String returns the transcript: everything that the batch returned, with a line end after each
// line.
func (r *Result) String() string { return r.transcript.String() }

// connection is a Session over go-mssqldb.
type connection struct{ conn *sql.Conn }

// Connect takes a connection of a pool as a Session.
func Connect(t testing.TB, db *sql.DB) Session {
	t.Helper()
	conn, err := db.Conn(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	return connection{conn}
}

// Close implements Session.
func (c connection) Close() error {
	if err := c.conn.Close(); !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}

// Run implements Session. It reads the driver's message queue, which keeps the order of result
// sets, counts and messages.
func (c connection) Run(ctx context.Context, batch string) (*Result, error) {
	result := &Result{}
	var queue sqlexp.ReturnMessage
	rows, err := c.conn.QueryContext(ctx, batch, &queue)
	if err != nil {
		return result, result.failure(err)
	}
	defer func() { _ = rows.Close() }()
	for more := true; more; {
		switch m := queue.Message(ctx).(type) {
		case sqlexp.MsgNotice:
			result.notice(m.Message)
		case sqlexp.MsgError:
			err = result.failure(m.Error)
		case sqlexp.MsgRowsAffected:
			result.Count(m.Count)
		case sqlexp.MsgNext:
			err = result.read(rows)
		case sqlexp.MsgNextResultSet:
			more = rows.NextResultSet()
		}
		if err != nil {
			return result, err
		}
	}
	if err := rows.Err(); err != nil {
		return result, result.failure(err)
	}
	return result, nil
}

// notice adds the message of PRINT, or of RAISERROR with a low level.
func (r *Result) notice(m fmt.Stringer) {
	if err, ok := m.(error); ok && r.failure(err) == nil {
		return
	}
	r.Message(Message{Text: strings.TrimPrefix(m.String(), "mssql: ")})
}

// failure adds an error of the server. It returns every other error.
func (r *Result) failure(err error) error {
	var e mssqldb.Error
	if !errors.As(err, &e) || e.Number == 0 {
		return err
	}
	r.Message(Message{Number: e.Number, Level: e.Class, State: e.State, Procedure: e.ProcName, Line: e.LineNo, Text: e.Message})
	return nil
}

// read adds a result set.
func (r *Result) read(rows *sql.Rows) error {
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	columns := make([]Column, len(types))
	values, places := make([]any, len(types)), make([]any, len(types))
	for i, t := range types {
		columns[i], places[i] = Column{Name: t.Name(), Type: declaration(t)}, &values[i]
	}
	r.Columns(columns)
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		row := make([]string, len(values))
		for i, v := range values {
			if row[i], err = format(v, types[i].DatabaseTypeName()); err != nil {
				return fmt.Errorf("column %q: %w", types[i].Name(), err)
			}
		}
		r.Row(row)
	}
	return nil
}

// declaration returns the type of a column as it is declared.
func declaration(t *sql.ColumnType) string {
	name := strings.ToLower(t.DatabaseTypeName())
	if precision, scale, ok := t.DecimalSize(); ok {
		return fmt.Sprintf("%s(%d,%d)", name, precision, scale)
	}
	if length, ok := t.Length(); ok && length < 1<<20 {
		return fmt.Sprintf("%s(%d)", name, length)
	}
	return name
}
