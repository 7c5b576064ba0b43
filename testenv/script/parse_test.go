package script

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const sample = `# verified: no
# A comment.

setup
CREATE TABLE t (i INT);
GO
INSERT INTO t VALUES (1);

subtest reads
query IT,D rowsort
SELECT i, N'a' FROM t;
SELECT SYSUTCDATETIME() WHERE 1 = 0;
----
1 | a
----

let $a $b
SELECT 1, 2;

session second
skipif embedded
statement error 50001,266 ^not  this$
THROW 50001, N'not  this', 1;

query I
SELECT $a;
`

func TestParse(t *testing.T) {
	s, err := Parse(sample)
	require.NoError(t, err)
	require.Equal(t, "no", s.Verified)
	require.Len(t, s.records, 7)
	setup, subtest, query, let, session, statement, last := s.records[0], s.records[1], s.records[2], s.records[3], s.records[4], s.records[5], s.records[6]
	require.Equal(t, 4, setup.line)
	require.Equal(t, "CREATE TABLE t (i INT);\nGO\nINSERT INTO t VALUES (1);", setup.sql)
	require.Equal(t, "reads", subtest.name)
	require.Equal(t, []string{"IT", "D"}, query.sets)
	require.True(t, query.sorted)
	require.Equal(t, [][]string{{"1 | a"}, nil}, query.expected)
	require.Equal(t, []string{"a", "b"}, let.vars)
	require.Equal(t, "second", session.name)
	require.Equal(t, []int32{50001, 266}, statement.errors)
	require.Equal(t, "^not  this$", statement.message)
	require.Equal(t, "embedded", statement.skip)
	require.Zero(t, last.from)
}

func TestParseErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no header":            {"setup\nSELECT 1;\n", "invalid first line"},
		"unknown record":       {"# verified: no\nselect 1\n", `invalid record "select"`},
		"no sql":               {"# verified: no\nsetup\n\n", "no SQL"},
		"arguments of setup":   {"# verified: no\nsetup x\nSELECT 1;\n", "takes no arguments"},
		"statement of nothing": {"# verified: no\nstatement\nSELECT 1;\n", "ok, or error"},
		"error without number": {"# verified: no\nstatement error\nSELECT 1;\n", "ok, or error"},
		"error with a word":    {"# verified: no\nstatement error x\nSELECT 1;\n", `invalid error number "x"`},
		"bad regexp":           {"# verified: no\nstatement error 1 (\nSELECT 1;\n", "error parsing regexp"},
		"bad letters":          {"# verified: no\nquery X\nSELECT 1;\n", `invalid letters "X"`},
		"bad option":           {"# verified: no\nquery I sorted\nSELECT 1;\n", "takes the option rowsort"},
		"let without variable": {"# verified: no\nlet\nSELECT 1;\n", "needs a variable"},
		"let of a word":        {"# verified: no\nlet a\nSELECT 1;\n", `invalid variable "a"`},
		"rows of a statement":  {"# verified: no\nsetup\nSELECT 1;\n----\n1\n", "only a query or a batch"},
		"too few result sets":  {"# verified: no\nquery I,I\nSELECT 1;\n----\n1\n", "2 result sets, and rows for 1"},
		"session without name": {"# verified: no\nsession\n", "needs one name"},
		"dangling skipif":      {"# verified: no\nskipif embedded\n", "no record follows"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.text)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestParseBatch(t *testing.T) {
	s, err := Parse("# verified: no\nbatch\nPRINT 'a';\nPRINT 'b';\n----\nprint: a\nprint: b\n\nbatch\nDECLARE @i int;\n----\n")
	require.NoError(t, err)
	require.Len(t, s.records, 2)
	require.Equal(t, [][]string{{"print: a", "print: b"}}, s.records[0].expected)
	require.Equal(t, [][]string{nil}, s.records[1].expected)
	require.Equal(t, []string{"PRINT 'a';\nPRINT 'b';", "DECLARE @i int;"}, s.Batches())
}

func TestRewriteKeepsTheRest(t *testing.T) {
	s, err := Parse(sample)
	require.NoError(t, err)
	require.Equal(t, sample, s.rewrite(nil))
	again, err := Parse(s.rewrite(map[int][][]string{2: {{"2 | b", "3 | c"}, {"2026-01-01"}}, 6: {{"1"}}}))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"2 | b", "3 | c"}, {"2026-01-01"}}, again.records[2].expected)
	require.Equal(t, [][]string{{"1"}}, again.records[6].expected)
	require.Equal(t, s.records[3].sql, again.records[3].sql)
	for _, sets := range [][][]string{{{"2 | b"}, nil}, {nil, {"2026-01-01"}}, {nil, nil}} {
		again, err = Parse(s.rewrite(map[int][][]string{2: sets}))
		require.NoError(t, err)
		require.Equal(t, sets, again.records[2].expected)
		require.Len(t, again.records, len(s.records))
	}
	require.Equal(t, sample, s.rewrite(map[int][][]string{2: {{"1 | a"}, nil}}))
}

func TestFormat(t *testing.T) {
	id := []byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF}
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	for want, c := range map[string]struct {
		value    any
		typeName string
	}{
		"NULL":                                 {nil, "INT"},
		"1":                                    {true, "BIT"},
		"-7":                                   {int64(-7), "INT"},
		"0.1":                                  {float64(float32(0.1)), "REAL"},
		"1.50":                                 {[]byte("1.50"), "DECIMAL"},
		"(empty)":                              {"", "NVARCHAR"},
		`a\nb\|c\\`:                            {"a\nb|c\\", "NVARCHAR"},
		"00112233-4455-6677-8899-AABBCCDDEEFF": {id, "UNIQUEIDENTIFIER"},
		"0x00FF":                               {[]byte{0, 255}, "VARBINARY"},
		"2026-01-02":                           {at, "DATE"},
		"2026-01-02T03:04:05.0000006":          {at, "DATETIME2"},
	} {
		got, err := format(c.value, c.typeName)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := format(struct{}{}, "INT")
	require.Error(t, err)
}

func TestCheck(t *testing.T) {
	s, err := Parse("# verified: no\nstatement ok\nX\n\nstatement error 50001 job\nX\n\nstatement error 1,2\nX\n")
	require.NoError(t, err)
	succeeds, fails, twice := s.records[0], s.records[1], s.records[2]
	check := func(r record, failed ...Message) error {
		return r.check(failed, func(s string) string { return s })
	}
	job, step := Message{Number: 50001, Text: "a job"}, Message{Number: 50001, Text: "a step"}
	require.NoError(t, check(succeeds))
	require.ErrorContains(t, check(succeeds, job), "Msg 50001")
	require.NoError(t, check(fails, job))
	require.ErrorContains(t, check(fails), "succeeded, want error [50001]")
	require.ErrorContains(t, check(fails, step), "does not match job")
	require.ErrorContains(t, check(fails, Message{Number: 1}), "want error [50001]")
	require.NoError(t, check(twice, Message{Number: 1}, Message{Number: 2}))
	require.Error(t, check(twice, Message{Number: 2}))
}

// FuzzParse checks that Parse does not panic, and that a rewrite without rows changes only line
// ends.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("# verified: no\nquery I\nSELECT 1;\n----\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.rewrite(nil))
		require.NoError(t, err)
		require.Equal(t, s.records, again.records)
	})
}
