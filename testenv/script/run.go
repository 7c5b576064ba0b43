package script

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/mssql"
)

var (
	rewrite         = flag.Bool("rewrite", false, "write what queries return over what their scripts expect")
	rewriteVerified = flag.Bool("rewrite-verified", false, "write the version of a real server into the scripts that pass on it")
)

// embedded is the name of the server that proves nothing about SQL Server.
const embedded = "embedded"

// Run runs a script. server is the server's name in skipif and onlyif. open opens the pool of a session, of which the session takes
// one connection; it closes the pool when the test ends.
func Run(t *testing.T, path, server string, open func(t testing.TB, session string) *sql.DB) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := Parse(string(text))
	require.NoError(t, err, path)
	if s.Verified == "no" {
		t.Logf("%s: its expectations have not been seen to hold on SQL Server", path)
	}
	r := &run{path: path, server: server, open: open, script: s, sessions: map[string]*sql.Conn{}, vars: map[string]string{}}
	r.all(t)
	if *rewrite && len(r.rewritten) > 0 {
		require.NoError(t, os.WriteFile(path, []byte(s.rewrite(r.rewritten)), 0o644))
	}
	if *rewriteVerified && server != embedded && !t.Failed() {
		r.verify(t)
	}
}

// run is one run of a script.
type run struct {
	path, server string
	open         func(testing.TB, string) *sql.DB
	script       *Script

	session   *sql.Conn
	sessions  map[string]*sql.Conn
	vars      map[string]string
	rewritten map[int][][]string // rows by the index of the record
}

// all runs every record.
func (r *run) all(t *testing.T) {
	t.Helper()
	r.use(t, defaultSession)
	for i := 0; i < len(r.script.records); {
		if r.script.records[i].kind != kindSubtest {
			r.record(t, t, i)
			i++
			continue
		}
		end := i + 1
		for end < len(r.script.records) && r.script.records[end].kind != kindSubtest {
			end++
		}
		t.Run(r.script.records[i].name, func(sub *testing.T) {
			for ; i+1 < end; i++ {
				r.record(sub, t, i+1)
			}
		})
		i = end
	}
}

// use makes a session the current one. Its connection lasts as long as the whole script: subtests share it.
func (r *run) use(t testing.TB, name string) {
	t.Helper()
	if r.sessions[name] == nil {
		c, err := r.open(t, name).Conn(context.WithoutCancel(t.Context()))
		require.NoError(t, err)
		t.Cleanup(func() {
			if err := c.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
				t.Errorf("close session %s: %v", name, err)
			}
		})
		r.sessions[name] = c
	}
	r.session = r.sessions[name]
}

// record runs one record within the subtest t of the script's test whole.
func (r *run) record(t, whole testing.TB, index int) {
	rec := &r.script.records[index]
	if rec.skip == r.server || rec.only != "" && rec.only != r.server {
		return
	}
	at := fmt.Sprintf("%s:%d", r.path, rec.line)
	if rec.kind == kindSession {
		r.use(whole, rec.name)
		return
	}
	text := r.replace(rec.sql)
	switch rec.kind {
	case kindSetup:
		if err := r.exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %s", at, describe(err))
		}
	case kindStatement:
		err := r.exec(t.Context(), text)
		if complaint := rec.judge(err, r.replace); complaint != "" {
			t.Errorf("%s: %s\n%s", at, complaint, text)
		}
	case kindLet:
		sets, err := r.query(t.Context(), text)
		if err != nil {
			t.Fatalf("%s: %s", at, describe(err))
		}
		if len(sets) != 1 || len(sets[0].rows) != 1 || len(sets[0].rows[0]) != len(rec.vars) {
			t.Fatalf("%s: let needs one row of %d values; got %v", at, len(rec.vars), sets)
		}
		for i, name := range rec.vars {
			r.vars[name] = sets[0].rows[0][i]
		}
	case kindQuery:
		sets, err := r.query(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %s\n%s", at, describe(err), text)
			return
		}
		r.compare(t, at, index, sets)
	}
}

// variable is a possible variable in a text.
var variable = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// replace puts the values of variables into a text.
func (r *run) replace(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := r.vars[name[1:]]; ok {
			return value
		}
		return name
	})
}

// exec runs the batches of a text up to the first that fails.
func (r *run) exec(ctx context.Context, text string) error {
	list, err := mssql.SplitBatches(text)
	if err != nil {
		return err
	}
	for _, batch := range list {
		for range batch.Count {
			if _, err := r.session.ExecContext(ctx, batch.Text); err != nil {
				return err
			}
		}
	}
	return nil
}

// resultSet is what a query returned, in the form of scripts.
type resultSet struct {
	letters string
	rows    [][]string
}

// query runs the batches of a text and reads their result sets.
func (r *run) query(ctx context.Context, text string) ([]resultSet, error) {
	var sets []resultSet
	list, err := mssql.SplitBatches(text)
	if err != nil {
		return nil, err
	}
	for _, batch := range list {
		for range batch.Count {
			more, err := r.queryBatch(ctx, batch.Text)
			if err != nil {
				return nil, err
			}
			sets = append(sets, more...)
		}
	}
	return sets, nil
}

func (r *run) queryBatch(ctx context.Context, batch string) (sets []resultSet, err error) {
	rows, err := r.session.QueryContext(ctx, batch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for more := true; more; more = rows.NextResultSet() {
		types, err := rows.ColumnTypes()
		if err != nil {
			return nil, err
		}
		if len(types) == 0 {
			continue // a statement that returns no rows
		}
		var set resultSet
		for _, ct := range types {
			letter, ok := letters[ct.DatabaseTypeName()]
			if !ok {
				return nil, fmt.Errorf("column %q has the type %q, for which there is no letter", ct.Name(), ct.DatabaseTypeName())
			}
			set.letters += string(letter)
		}
		values := make([]any, len(types))
		places := make([]any, len(types))
		for i := range values {
			places[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(places...); err != nil {
				return nil, err
			}
			row := make([]string, len(values))
			for i, v := range values {
				if row[i], err = format(v, types[i].DatabaseTypeName()); err != nil {
					return nil, fmt.Errorf("column %q: %w", types[i].Name(), err)
				}
			}
			set.rows = append(set.rows, row)
		}
		sets = append(sets, set)
	}
	return sets, rows.Err()
}

// judge says what is wrong with the end of a statement; "" is nothing. replace puts the values of variables into a text.
func (r *record) judge(err error, replace func(string) string) string {
	if len(r.errors) == 0 {
		if err != nil {
			return describe(err)
		}
		return ""
	}
	if err == nil {
		return fmt.Sprintf("succeeded; error %d was expected", r.errors[0])
	}
	list := serverErrors(err)
	numbers := make([]int32, len(list))
	for i, e := range list {
		numbers[i] = e.Number
	}
	if !slices.Equal(numbers, r.errors) {
		return fmt.Sprintf("error %v was expected: %s", r.errors, describe(err))
	}
	pattern := replace(r.message)
	if ok, bad := regexp.MatchString(pattern, list[0].Message); !ok || bad != nil {
		return fmt.Sprintf("the text does not match %s: %s", pattern, describe(err))
	}
	return ""
}

// serverErrors are the errors of a server in an error, in the order in which they were sent.
func serverErrors(err error) []mssqldb.Error {
	var e mssqldb.Error
	if !errors.As(err, &e) {
		return nil
	}
	if len(e.All) > 0 {
		return e.All
	}
	return []mssqldb.Error{e}
}

// describe writes an error with all that the server said.
func describe(err error) string {
	list := serverErrors(err)
	if len(list) == 0 {
		return err.Error()
	}
	var b strings.Builder
	for i, e := range list {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "Msg %d, Level %d, State %d, Procedure %q, Line %d: %s", e.Number, e.Class, e.State, e.ProcName, e.LineNo, e.Message)
	}
	return b.String()
}

// anyValue is the expected value that all but NULL match.
const anyValue = "<any>"

// compare compares what a query returned with what was expected; with -rewrite, it notes what is to be written instead.
func (r *run) compare(t testing.TB, at string, index int, sets []resultSet) {
	t.Helper()
	rec := &r.script.records[index]
	got := make([]string, len(sets))
	for i, set := range sets {
		got[i] = set.letters
	}
	if !slices.Equal(got, rec.sets) {
		t.Errorf("%s: the columns are %s; %s was expected", at, strings.Join(got, ","), strings.Join(rec.sets, ","))
		return
	}
	actual := make([][]string, len(sets))
	for i, set := range sets {
		for _, row := range set.rows {
			actual[i] = append(actual[i], strings.Join(row, " | "))
		}
		if rec.sorted {
			slices.Sort(actual[i])
		}
	}
	if rec.from > 0 && r.matches(rec, sets, actual) {
		return
	}
	if *rewrite {
		if r.rewritten == nil {
			r.rewritten = map[int][][]string{}
		}
		r.rewritten[index] = r.withVariables(sets, rec.sorted)
		return
	}
	if rec.from == 0 {
		t.Errorf("%s: the query has no expected rows; it returned\n%s", at, join(actual))
		return
	}
	t.Errorf("%s:\n%s\nexpected:\n%s\ngot:\n%s", at, r.replace(rec.sql), r.replace(join(rec.expected)), join(actual))
}

// join puts result sets together as they stand in a script.
func join(sets [][]string) string {
	parts := make([]string, len(sets))
	for i, rows := range sets {
		parts[i] = strings.Join(rows, "\n")
	}
	return strings.Join(parts, "\n"+divider+"\n")
}

// matches says whether the rows are as expected.
func (r *run) matches(rec *record, sets []resultSet, actual [][]string) bool {
	for i, rows := range rec.expected {
		if len(rows) != len(actual[i]) {
			return false
		}
		want := make([]string, len(rows))
		for j, row := range rows {
			want[j] = r.replace(row)
		}
		if rec.sorted {
			slices.Sort(want)
		}
		for j, row := range want {
			if row == actual[i][j] {
				continue
			}
			if rec.sorted || !matchesRow(strings.Split(row, " | "), sets[i].rows[j]) {
				return false
			}
		}
	}
	return true
}

// matchesRow compares value by value.
func matchesRow(want, got []string) bool {
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || w == anyValue && g != "NULL" })
}

// withVariables writes rows with the names of variables in place of their values.
func (r *run) withVariables(sets []resultSet, sorted bool) [][]string {
	out := make([][]string, len(sets))
	for i, set := range sets {
		for _, row := range set.rows {
			row = slices.Clone(row)
			for k, v := range row {
				for name, value := range r.vars {
					if v == value && len(v) >= 8 { // short values are equal by chance
						row[k] = "$" + name
					}
				}
			}
			out[i] = append(out[i], strings.Join(row, " | "))
		}
		if sorted {
			slices.Sort(out[i])
		}
	}
	return out
}

// verify writes the server's version into the script's first line.
func (r *run) verify(t *testing.T) {
	t.Helper()
	var version string
	require.NoError(t, r.session.QueryRowContext(t.Context(), "SELECT CONVERT(NVARCHAR(128), SERVERPROPERTY('ProductVersion'));").Scan(&version))
	text, err := os.ReadFile(r.path)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\n")
	header := fmt.Sprintf("%sSQL Server %s, %s\n", verifiedHeader, version, time.Now().UTC().Format(time.DateOnly))
	require.NoError(t, os.WriteFile(r.path, []byte(header+rest), 0o644))
}

// rewrite returns the script's text with other expected rows for some of its records, by their index.
func (s *Script) rewrite(rows map[int][][]string) string {
	var b strings.Builder
	next := 0
	copyTo := func(end int) {
		for ; next < end; next++ {
			b.WriteString(s.lines[next])
			b.WriteByte('\n')
		}
	}
	for i, r := range s.records {
		sets, ok := rows[i]
		if !ok {
			continue
		}
		if r.from > 0 {
			copyTo(r.from)
			next = r.to
		} else {
			copyTo(r.line + strings.Count(r.sql, "\n") + 1)
			b.WriteString(divider + "\n")
		}
		if text := join(sets); text != "" {
			b.WriteString(text)
			b.WriteByte('\n')
		}
	}
	copyTo(len(s.lines))
	return b.String()
}
