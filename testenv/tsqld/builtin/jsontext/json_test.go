package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// doc is the text of the examples of "JSON_VALUE (Transact-SQL)", shortened.
const doc = `{"info": {"type": 1, "address": {"town": "Bristol", "county": "Avon"}, "tags": ["Sport", "Water \"polo\""], "none": null}, "type": "Basic", "x y": true}`

// TestErrors checks positions and characters in errors 13607 and 13609.
func TestErrors(t *testing.T) {
	_, err := scan(nil, `{"a": x}`)
	require.ErrorContains(t, err, "Unexpected character 'x' is found at position 6.")
	_, err = scan(nil, "")
	require.ErrorContains(t, err, "Unexpected character '.' is found at position 0.")
	_, err = parsePath("$.a.[")
	require.ErrorContains(t, err, "Unexpected character '[' is found at position 4.")
	deep := ""
	for range 200 {
		deep += "["
	}
	_, err = scan(nil, deep)
	require.Error(t, err)
}

// errNumber returns the error number of err, 0 without an error.
func errNumber(err error) int32 {
	var e *mserr.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// rowsOf collects an iterator's rows; the error, if any, comes last.
func rowsOf(seq func(func([]types.Value, error) bool)) (rows [][]types.Value, err error) {
	for row, e := range seq {
		if e != nil {
			return rows, e
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// TestOpen follows "OPENJSON (Transact-SQL)".
func TestOpen(t *testing.T) {
	rows, err := rowsOf(Open(nil, `{"s":"John","n":45,"t":true,"z":null,"a":["a"],"o":{"k":1}}`, ""))
	require.NoError(t, err)
	require.Equal(t, [][]types.Value{{"s", "John", int64(1)}, {"n", "45", int64(2)}, {"t", "true", int64(3)}, {"z", nil, int64(0)}, {"a", `["a"]`, int64(4)}, {"o", `{"k":1}`, int64(5)}}, rows)
	rows, err = rowsOf(Open(nil, `{"p":["en","fr"]}`, "$.p"))
	require.NoError(t, err)
	require.Equal(t, [][]types.Value{{"0", "en", int64(1)}, {"1", "fr", int64(1)}}, rows)
	rows, err = rowsOf(Open(nil, `{}`, "$.p"))
	require.NoError(t, err)
	require.Empty(t, rows)
	_, err = rowsOf(Open(nil, `{}`, "strict $.p"))
	require.EqualValues(t, 13608, errNumber(err))
	_, err = rowsOf(Open(nil, `[1`, ""))
	require.EqualValues(t, 13609, errNumber(err))

	columns := []Column{
		{Name: "number", Type: types.VarCharOf(10), Path: "$.Order.Number"}, {Name: "Quantity", Type: types.IntType},
		{Name: "at", Type: types.DateTime2Type, Path: "$.Order.Date"},
		{Name: "raw", Type: types.NVarCharMax, Path: "$.Order", AsJSON: true},
		{Name: "bits", Type: types.VarBinaryOf(10), Path: "$.b"},
	}
	rows, err = rowsOf(OpenWith(nil, `[{"Order":{"Number":"SO1","Date":"2011-05-31T00:00:00"},"Quantity":1e1,"b":"AQI="},{"Quantity":"3","Order":"a very long text"}]`, "$", columns))
	require.NoError(t, err)
	require.Equal(t, [][]types.Value{
		{"SO1", int64(10), types.Days(2011, 5, 31) * types.TicksPerDay, `{"Number":"SO1","Date":"2011-05-31T00:00:00"}`, []byte{1, 2}},
		{nil, int64(3), nil, nil, nil},
	}, rows)
	rows, err = rowsOf(OpenWith(nil, `[1,2]`, "$", []Column{{Name: "v", Type: types.IntType, Path: "$"}}))
	require.NoError(t, err)
	require.Equal(t, [][]types.Value{{int64(1)}, {int64(2)}}, rows)
	_, err = rowsOf(OpenWith(nil, `[{"v":"x"}]`, "$", []Column{{Name: "v", Type: types.IntType}}))
	require.EqualValues(t, 245, errNumber(err))
	_, err = rowsOf(OpenWith(nil, `[]`, "$", []Column{{Name: "v", Type: types.IntType, AsJSON: true}}))
	require.EqualValues(t, 13618, errNumber(err))
	for range Open(nil, `[1,2,3]`, "") { // a consumer may stop early
		break
	}
}

// TestText follows "How FOR JSON converts SQL Server data types to JSON data types".
func TestText(t *testing.T) {
	for _, c := range []struct{ typ, in, want string }{
		{"int", "5", "5"}, {"bit", "1", "true"}, {"decimal(9,2)", "1.5", "1.50"}, {"money", "1.5", "1.5000"},
		{"float", "1.5", "1.500000000000000e+000"}, {"nvarchar(20)", `a"b/`, `"a\"b\/"`},
		{"date", "2020-01-02", `"2020-01-02"`},
		{"datetime", "2020-01-02 03:04:05", `"2020-01-02T03:04:05"`},
		{"datetime2(7)", "2020-01-02 03:04:05.1234567", `"2020-01-02T03:04:05.1234567"`},
		{"varbinary(5)", "ab", `"YWI="`}, {"int", "NULL", "null"},
		{"uniqueidentifier", "6F9619FF-8B86-D011-B42D-00C04FC964FF", `"6F9619FF-8B86-D011-B42D-00C04FC964FF"`},
	} {
		typ, err := types.ParseType(c.typ)
		require.NoError(t, err)
		var v types.Value
		if c.in != "NULL" {
			v, err = types.Convert(c.in, types.VarCharMax, typ, types.NoStyle)
			require.NoError(t, err)
		}
		got, err := Text(v, typ, false)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		require.True(t, json.Valid([]byte(got)), got)
	}
}

// FuzzJSON compares the scanner's result with encoding/json and checks that no path causes a panic.
func FuzzJSON(f *testing.F) {
	f.Add(doc, "strict $.info.tags[1]")
	f.Add(`[1,{"a":[]},"\u00e9\ud83d\ude00"]`, "append $[1].a")
	f.Add(`{"a":1,"a":2}`, `$."a`)
	f.Fuzz(func(t *testing.T, s, path string) {
		_, err := scan(nil, s)
		if errNumber(err) != 40517 && (err == nil) != json.Valid([]byte(s)) {
			t.Fatalf("%q: %v, encoding/json says %v", s, err, json.Valid([]byte(s)))
		}
		_, _ = Value(nil, s, path)
		text, err := Query(nil, s, path)
		if text, ok := text.(string); err == nil && ok && !json.Valid([]byte(text)) {
			t.Fatalf("JSON_QUERY(%q, %q) = %q", s, path, text)
		}
		changed, err := Modify(nil, s, path, int64(1), types.IntType, false)
		if err == nil && !json.Valid([]byte(changed)) {
			t.Fatalf("JSON_MODIFY(%q, %q) = %q", s, path, changed)
		}
	})
}

// TestOpenWithMembers reads columns that are members of each element, with elements of all
// kinds.
func TestOpenWithMembers(t *testing.T) {
	columns := []Column{{Name: "a", Type: types.IntType}, {Name: "q\"k", Type: types.NVarCharMax}, {Name: "b", Type: types.NVarCharMax, AsJSON: true}}
	const text = ` [ {"a":1,"a":2,"q\"k":"x\ty","b":[{"a":9},"]"]} , 5, {"b":{"a":3},"a":null,"c":[[{}]]}, [1,{"a":7}], { }, "a", {"a" : -4 , "b":1,"q\u0022k":"z"}] `
	want := [][]types.Value{
		{int64(1), "x\ty", `[{"a":9},"]"]`}, {nil, nil, nil}, {nil, nil, `{"a":3}`}, {nil, nil, nil}, {nil, nil, nil},
		{nil, nil, nil}, {int64(-4), "z", nil},
	}
	rows, err := rowsOf(OpenWith(nil, text, "$", columns))
	require.NoError(t, err)
	require.Equal(t, want, rows)
	// With a path of two steps, each column is looked up separately.
	rows, err = rowsOf(OpenWith(nil, text, "$", append(columns, Column{Name: "x", Type: types.IntType, Path: "$.b.a"})))
	require.NoError(t, err)
	for i, row := range rows {
		require.Equal(t, want[i], row[:3])
	}
	rows, err = rowsOf(OpenWith(nil, `{"o":`+text+`}`, "$.o[2]", columns))
	require.NoError(t, err)
	require.Equal(t, want[2:3], rows)
	// Malformed JSON is reported before a column that cannot be converted.
	_, err = rowsOf(OpenWith(nil, `[{"a":"x"},`, "$", columns))
	require.ErrorContains(t, err, "JSON text is not properly formatted")
}

// TestNumbers checks the scanner against JSON's grammar of numbers.
func TestNumbers(t *testing.T) {
	for text, ok := range map[string]bool{
		"0": true, "-0": true, "10": true, "1.5": true, "-1.50e10": true, "1E-2": true, "0e+5": true,
		"01": false, "-": false, "1.": false, ".5": false, "1e": false, "1e+": false, "--1": false, "+1": false,
		"-.5": false, "0x1": false,
	} {
		_, err := scan(nil, text)
		require.Equal(t, ok, err == nil, text)
	}
}

func BenchmarkOpenWith(b *testing.B) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, `%s{"task_id":%d,"attempt":1,"outcome":"Succeeded","message":"","elapsed_ms":0}`, map[bool]string{true: "[", false: ","}[i == 0], 100000+i)
	}
	text.WriteString("]")
	var columns []Column
	for _, name := range []string{"task_id", "attempt", "outcome", "message", "error_number", "error_severity", "error_state", "error_line", "rows_affected", "elapsed_ms", "session_id"} {
		c := Column{Name: name, Type: types.BigIntType}
		if name == "outcome" || name == "message" {
			c.Type = types.NVarCharMax
		}
		columns = append(columns, c)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range OpenWith(nil, text.String(), "$", columns) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A path keeps no more steps than a text may have levels. Longer paths find nothing.
func TestLongJSONPaths(t *testing.T) {
	t.Parallel()
	p, err := parsePath("$" + strings.Repeat("[0]", 100_000))
	require.NoError(t, err)
	require.Len(t, p.steps, maxSteps)
	_, err = parsePath("$" + strings.Repeat("[0]", 1000) + "x")
	require.EqualValues(t, 13607, errNumber(err))
	deep := strings.Repeat("[", maxDepth) + "7" + strings.Repeat("]", maxDepth)
	for steps, want := range map[int]types.Value{maxDepth: "7", maxDepth + 1: nil, maxDepth + 2: nil, maxDepth + 3: nil, 1000: nil} {
		path := "$" + strings.Repeat("[0]", steps)
		v, err := Value(nil, deep, path)
		require.NoError(t, err)
		require.Equal(t, want, v, steps)
		for _, changed := range []types.Value{"x", nil} {
			text, err := Modify(nil, deep, path, changed, types.NVarCharMax, false)
			require.NoError(t, err)
			if want == nil {
				require.Equal(t, deep, text, steps)
			} else {
				require.NotEqual(t, deep, text, steps)
			}
		}
	}
	objects := strings.Repeat(`{"a":`, maxDepth) + "7" + strings.Repeat("}", maxDepth)
	for _, steps := range []int{maxDepth + 1, maxDepth + 2, maxDepth + 3} {
		v, err := Modify(nil, objects, "$"+strings.Repeat(".a", steps), "x", types.NVarCharMax, false)
		require.NoError(t, err)
		require.Equal(t, objects, v, "no member of a number: %d", steps)
	}
}
