package script

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/mssql"
)

var (
	rewrite         = flag.Bool("rewrite", false, "replace the expectations of queries and batches by what they return")
	rewriteVerified = flag.Bool("rewrite-verified", false, "write the version of a real server into the scripts that pass on it")
)

// Cased is the condition that the collation of the database distinguishes capital and small
// letters.
const Cased = "cased"

// embedded is the name of the embedded server. Its runs do not verify a script.
const embedded = "embedded"

// Run runs a script. server is the server's name in skipif and onlyif, and conditions are other
// names that hold there, such as Cased. open opens a session; Run closes it when the test ends.
func Run(t *testing.T, path, server string, open func(t testing.TB, session string) Session, conditions ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := Parse(string(text))
	require.NoError(t, err, path)
	if s.Verified == "no" {
		t.Logf("%s: not verified on SQL Server", path)
	}
	r := &run{
		path: path, server: server, names: append(conditions, server), open: open, script: s, session: defaultSession,
		sessions: map[string]Session{}, vars: map[string]string{}, rewritten: map[int][][]string{},
	}
	defer r.close(t)
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
	names        []string // names that hold in skipif and onlyif
	open         func(testing.TB, string) Session
	script       *Script

	whole     testing.TB // the test of the whole script; its subtests share the sessions
	session   string     // the current session's name
	sessions  map[string]Session
	vars      map[string]string
	rewritten map[int][][]string // rows by the index of the record
}

// all runs every record.
func (r *run) all(t *testing.T) {
	t.Helper()
	r.whole = t
	for i := 0; i < len(r.script.records); {
		if r.script.records[i].kind != kindSubtest {
			r.record(t, i)
			i++
			continue
		}
		end := i + 1
		for end < len(r.script.records) && r.script.records[end].kind != kindSubtest {
			end++
		}
		t.Run(r.script.records[i].name, func(sub *testing.T) {
			for ; i+1 < end; i++ {
				r.record(sub, i+1)
			}
		})
		i = end
	}
}

// close closes the sessions.
func (r *run) close(t testing.TB) {
	for name, session := range r.sessions {
		if err := session.Close(); err != nil {
			t.Errorf("close session %s: %v", name, err)
		}
	}
}

// record runs one record within the subtest t.
func (r *run) record(t testing.TB, index int) {
	rec := &r.script.records[index]
	if slices.Contains(r.names, rec.skip) || rec.only != "" && !slices.Contains(r.names, rec.only) {
		return
	}
	if rec.kind == kindSession {
		r.session = rec.name
		return
	}
	at := fmt.Sprintf("%s:%d", r.path, rec.line)
	text := r.replace(rec.sql)
	if rec.kind == kindBatch {
		result, err := r.runBatch(t.Context(), text)
		if err != nil {
			result.Line("session ended: " + err.Error())
		}
		r.compareTranscript(t, at, index, result.String())
		return
	}
	sets, failed, err := r.runText(t.Context(), text)
	if err == nil {
		err = rec.check(failed, r.replace)
	}
	switch {
	case err != nil && (rec.kind == kindSetup || rec.kind == kindLet):
		t.Fatalf("%s: %v\n%s", at, err, text)
	case err != nil:
		t.Errorf("%s: %v\n%s", at, err, text)
	case rec.kind == kindLet:
		if len(sets) != 1 || len(sets[0].rows) != 1 || len(sets[0].rows[0]) != len(rec.vars) {
			t.Fatalf("%s: let needs one row of %d values; got %v", at, len(rec.vars), sets)
		}
		for i, name := range rec.vars {
			r.vars[name] = sets[0].rows[0][i]
		}
	case rec.kind == kindQuery:
		r.compareSets(t, at, index, sets)
	}
}

// variable matches a possible variable in a text.
var variable = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// replace replaces the variables in a text by their values.
func (r *run) replace(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := r.vars[name[1:]]; ok {
			return value
		}
		return name
	})
}

// runBatch runs a batch on the current session, which it opens on first use. A session that has
// ended is closed, and opened again on its next use.
func (r *run) runBatch(ctx context.Context, batch string) (*Result, error) {
	session := r.sessions[r.session]
	if session == nil {
		session = r.open(r.whole, r.session)
		r.sessions[r.session] = session
	}
	result, err := session.Run(ctx, batch)
	if err != nil {
		delete(r.sessions, r.session)
		if closeErr := session.Close(); closeErr != nil {
			r.whole.Errorf("close session %s: %v", r.session, closeErr)
		}
	}
	return result, err
}

// runText runs the batches of a text up to the first one with errors. It returns all result sets,
// and the errors of the server.
func (r *run) runText(ctx context.Context, text string) (sets []resultSet, failed []Message, err error) {
	list, err := mssql.SplitBatches(text)
	if err != nil {
		return nil, nil, err
	}
	for _, batch := range list {
		for range batch.Count {
			result, err := r.runBatch(ctx, batch.Text)
			sets = append(sets, result.sets...)
			if err != nil || len(result.errors) > 0 {
				return sets, result.errors, err
			}
		}
	}
	return sets, nil, nil
}

// check compares the errors of the server with those that a record expects. replace replaces
// variables by their values.
func (r *record) check(failed []Message, replace func(string) string) error {
	numbers := make([]int32, len(failed))
	texts := make([]string, len(failed))
	for i, m := range failed {
		numbers[i], texts[i] = m.Number, m.String()
	}
	got := strings.Join(texts, "; ")
	switch {
	case len(r.errors) == 0 && len(failed) > 0:
		return errors.New(got)
	case len(failed) == 0 && len(r.errors) > 0:
		return fmt.Errorf("succeeded, want error %v", r.errors)
	case !slices.Equal(numbers, r.errors):
		return fmt.Errorf("want error %v, got %s", r.errors, got)
	case len(failed) == 0:
		return nil
	}
	pattern := replace(r.message)
	matched, err := regexp.MatchString(pattern, failed[0].Text)
	if err != nil {
		return err
	}
	if !matched {
		return fmt.Errorf("the text does not match %s: %s", pattern, got)
	}
	return nil
}

// anyValue is the expected value that matches every value but NULL.
const anyValue = "<any>"

// compareSets compares the result sets of a query with the expected ones. With -rewrite, it records
// a difference for the rewrite.
func (r *run) compareSets(t testing.TB, at string, index int, sets []resultSet) {
	t.Helper()
	rec := &r.script.records[index]
	got := make([]string, len(sets))
	for i, set := range sets {
		var err error
		if got[i], err = set.letters(); err != nil {
			t.Errorf("%s: %v", at, err)
			return
		}
	}
	if !slices.Equal(got, rec.sets) {
		t.Errorf("%s: the columns are %s, want %s", at, strings.Join(got, ","), strings.Join(rec.sets, ","))
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
	switch {
	case rec.from > 0 && r.matches(rec, sets, actual):
	case *rewrite:
		r.rewritten[index] = r.withVariables(sets, rec.sorted)
	case rec.from == 0:
		t.Errorf("%s: the query has no expected rows; it returned\n%s", at, join(actual))
	default:
		t.Errorf("%s:\n%s\nwant:\n%s\ngot:\n%s", at, r.replace(rec.sql), r.replace(join(rec.expected)), join(actual))
	}
}

// compareTranscript compares the transcript of a batch with the expected one. With -rewrite, it
// records a difference for the rewrite.
func (r *run) compareTranscript(t testing.TB, at string, index int, got string) {
	t.Helper()
	rec := &r.script.records[index]
	got = strings.TrimSuffix(got, "\n")
	want := r.replace(join(rec.expected))
	switch {
	case rec.from > 0 && got == want:
	case *rewrite:
		r.rewritten[index] = [][]string{strings.Split(got, "\n")}
	default:
		t.Errorf("%s:\n%s\nwant:\n%s\ngot:\n%s", at, r.replace(rec.sql), want, got)
	}
}

// join joins result sets in the form of scripts.
func join(sets [][]string) string {
	parts := make([]string, len(sets))
	for i, rows := range sets {
		parts[i] = strings.Join(rows, "\n")
	}
	return strings.Join(parts, "\n"+divider+"\n")
}

// matches reports whether the rows are the expected ones.
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

// withVariables returns the rows with the names of variables in place of their values.
func (r *run) withVariables(sets []resultSet, sorted bool) [][]string {
	out := make([][]string, len(sets))
	for i, set := range sets {
		for _, row := range set.rows {
			row = slices.Clone(row)
			for k, v := range row {
				for name, value := range r.vars {
					if v == value && len(v) >= 8 { // shorter values are equal by chance
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

// verify writes the server's version and the date into the script's first line.
func (r *run) verify(t *testing.T) {
	t.Helper()
	r.session = defaultSession
	result, err := r.runBatch(t.Context(), "SELECT CONVERT(NVARCHAR(128), SERVERPROPERTY('ProductVersion')) AS version;")
	require.NoError(t, err)
	require.Empty(t, result.errors)
	version := result.sets[0].rows[0][0]
	text, err := os.ReadFile(r.path)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\n")
	header := fmt.Sprintf("%sSQL Server %s, %s\n", verifiedHeader, version, time.Now().UTC().Format(time.DateOnly))
	require.NoError(t, os.WriteFile(r.path, []byte(header+rest), 0o644))
}

// rewrite returns the script's text with other expected rows for some of its records, by their
// index.
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
		for i, set := range sets {
			if i > 0 {
				b.WriteString(divider + "\n")
			}
			for _, row := range set {
				if row != "" { // the transcript of a batch that sent nothing
					b.WriteString(row + "\n")
				}
			}
		}
	}
	copyTo(len(s.lines))
	return b.String()
}
