package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// doc is the text of the examples of "JSON_VALUE (Transact-SQL)", shortened.
const doc = `{"info": {"type": 1, "address": {"town": "Bristol", "county": "Avon"}, "tags": ["Sport", "Water \"polo\""], "none": null}, "type": "Basic", "x y": true}`

func TestJSONFunctions(t *testing.T) {
	text := "nvarchar(max)'" + doc
	check(t, []functionCase{
		{"JSON_VALUE", []string{text + "'", "'$.info.type'"}, "nvarchar(4000)", "1"},
		{"JSON_VALUE", []string{text + "'", "'$.info.address.town'"}, "", "Bristol"},
		{"JSON_VALUE", []string{text + "'", "'$.info.\"address\"'"}, "", "NULL"},
		{"JSON_VALUE", []string{text + "'", "'$.info.tags[1]'"}, "", `Water "polo"`},
		{"JSON_VALUE", []string{text + "'", "'$.info.none'"}, "", "NULL"},
		{"JSON_VALUE", []string{text + "'", "'strict $.nope'"}, "", "#13608"},
		{"JSON_VALUE", []string{text + "'", "'lax $.nope'"}, "", "NULL"},
		{"JSON_VALUE", []string{text + "'", "'strict $.info'"}, "", "#13623"},
		{"JSON_VALUE", []string{text + "'", "'$.\"x y\"'"}, "", "true"},
		{"JSON_VALUE", []string{text + "'", "'x'"}, "", "#13607"},
		{"JSON_VALUE", []string{"'{bad'", "'$'"}, "", "#13609"}, {"JSON_VALUE", []string{"NULL", "'$'"}, "", "NULL"},
		{"JSON_QUERY", []string{text + "'", "'$.info.address'"}, "nvarchar(max)", `{"town": "Bristol", "county": "Avon"}`},
		{"JSON_QUERY", []string{text + "'", "'$.type'"}, "", "NULL"},
		{"JSON_QUERY", []string{text + "'", "'strict $.type'"}, "", "#13624"},
		{"JSON_QUERY", []string{"'[1,2]'"}, "", "[1,2]"},
		{"ISJSON", []string{text + "'"}, "int", "1"}, {"ISJSON", []string{"'5'"}, "", "0"},
		{"ISJSON", []string{"'5'", "'VALUE'"}, "", "1"}, {"ISJSON", []string{"'[1,]'"}, "", "0"},
		{"ISJSON", []string{"NULL"}, "", "NULL"}, {"ISJSON", []string{"'{\"a\":1} x'"}, "", "0"},
		{"JSON_PATH_EXISTS", []string{text + "'", "'$.info.tags[5]'"}, "", "0"},
		{"JSON_MODIFY", []string{`'{"name":"John","skills":["C#","SQL"]}'`, "'$.name'", "'Mike'"}, "nvarchar(max)", `{"name":"Mike","skills":["C#","SQL"]}`},
		{"JSON_MODIFY", []string{`'{"name":"John","skills":["C#","SQL"]}'`, "'$.surname'", "'Smith'"}, "", `{"name":"John","skills":["C#","SQL"],"surname":"Smith"}`},
		{"JSON_MODIFY", []string{`'{"name":"John","skills":["C#","SQL"]}'`, "'$.name'", "NULL"}, "", `{"skills":["C#","SQL"]}`},
		{"JSON_MODIFY", []string{`'{"name":"John","skills":["C#","SQL"]}'`, "'$.skills'", "NULL"}, "", `{"name":"John"}`},
		{"JSON_MODIFY", []string{`'{"a":1}'`, "'$.a'", "NULL"}, "", `{}`},
		{"JSON_MODIFY", []string{`'{"name":"John"}'`, "'strict $.name'", "NULL"}, "", `{"name":null}`},
		{"JSON_MODIFY", []string{`'{"skills":["C#"]}'`, "'append $.skills'", "'Azure'"}, "", `{"skills":["C#","Azure"]}`},
		{"JSON_MODIFY", []string{`'{}'`, "'append $.skills'", "1"}, "", `{"skills":[1]}`},
		{"JSON_MODIFY", []string{`'{"price":49.99}'`, "'$.price'", "60.00"}, "", `{"price":60.00}`},
		{"JSON_MODIFY", []string{`'{"a":1}'`, "'strict $.b'", "1"}, "", "#13608"},
		{"JSON_MODIFY", []string{`'{"a":[1,2]}'`, "'$.a[1]'", "NULL"}, "", `{"a":[1,null]}`},
		{"JSON_MODIFY", []string{`'{"a":1}'`, "'$.a'", "bit'1'"}, "", `{"a":true}`},
	})
	f := table["JSON_MODIFY"]
	v, err := f.Long(nil, nil, []types.Type{types.NVarCharMax, types.NVarCharMax, types.NVarCharMax, types.BitType}, types.NVarCharMax, []types.Value{`{"a":1}`, "$.a", `[1]`, int64(1)})
	require.NoError(t, err)
	require.Equal(t, `{"a":[1]}`, v)
}

// TestJSONErrors checks positions and characters in errors 13607 and 13609.
func TestJSONErrors(t *testing.T) {
	_, err := scanJSON(nil, `{"a": x}`)
	require.ErrorContains(t, err, "Unexpected character 'x' is found at position 6.")
	_, err = scanJSON(nil, "")
	require.ErrorContains(t, err, "Unexpected character '.' is found at position 0.")
	_, err = ParseJSONPath("$.a.[")
	require.ErrorContains(t, err, "Unexpected character '[' is found at position 4.")
	deep := ""
	for range 200 {
		deep += "["
	}
	_, err = scanJSON(nil, deep)
	require.Error(t, err)
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

// TestOpenJSON follows "OPENJSON (Transact-SQL)".
func TestOpenJSON(t *testing.T) {
	rows, err := rowsOf(OpenJSON(nil, `{"s":"John","n":45,"t":true,"z":null,"a":["a"],"o":{"k":1}}`, ""))
	require.NoError(t, err)
	require.Equal(t, [][]types.Value{{"s", "John", int64(1)}, {"n", "45", int64(2)}, {"t", "true", int64(3)}, {"z", nil, int64(0)}, {"a", `["a"]`, int64(4)}, {"o", `{"k":1}`, int64(5)}}, rows)
	rows, err = rowsOf(OpenJSON(nil, `{"p":["en","fr"]}`, "$.p"))
	require.NoError(t, err)
	require.Equal(t, [][]types.Value{{"0", "en", int64(1)}, {"1", "fr", int64(1)}}, rows)
	rows, err = rowsOf(OpenJSON(nil, `{}`, "$.p"))
	require.NoError(t, err)
	require.Empty(t, rows)
	_, err = rowsOf(OpenJSON(nil, `{}`, "strict $.p"))
	require.EqualValues(t, 13608, errNumber(err))
	_, err = rowsOf(OpenJSON(nil, `[1`, ""))
	require.EqualValues(t, 13609, errNumber(err))

	columns := []JSONColumn{
		{Name: "number", Type: types.VarCharOf(10), Path: "$.Order.Number"}, {Name: "Quantity", Type: types.IntType},
		{Name: "at", Type: types.DateTime2Type, Path: "$.Order.Date"},
		{Name: "raw", Type: types.NVarCharMax, Path: "$.Order", AsJSON: true},
		{Name: "bits", Type: types.VarBinaryOf(10), Path: "$.b"},
	}
	rows, err = rowsOf(OpenJSONWith(nil, `[{"Order":{"Number":"SO1","Date":"2011-05-31T00:00:00"},"Quantity":1e1,"b":"AQI="},{"Quantity":"3","Order":"a very long text"}]`, "$", columns))
	require.NoError(t, err)
	require.Equal(t, [][]types.Value{
		{"SO1", int64(10), types.Days(2011, 5, 31) * types.TicksPerDay, `{"Number":"SO1","Date":"2011-05-31T00:00:00"}`, []byte{1, 2}},
		{nil, int64(3), nil, nil, nil},
	}, rows)
	rows, err = rowsOf(OpenJSONWith(nil, `[1,2]`, "$", []JSONColumn{{Name: "v", Type: types.IntType, Path: "$"}}))
	require.NoError(t, err)
	require.Equal(t, [][]types.Value{{int64(1)}, {int64(2)}}, rows)
	_, err = rowsOf(OpenJSONWith(nil, `[{"v":"x"}]`, "$", []JSONColumn{{Name: "v", Type: types.IntType}}))
	require.EqualValues(t, 245, errNumber(err))
	_, err = rowsOf(OpenJSONWith(nil, `[]`, "$", []JSONColumn{{Name: "v", Type: types.IntType, AsJSON: true}}))
	require.EqualValues(t, 13618, errNumber(err))
	for range OpenJSON(nil, `[1,2,3]`, "") { // a consumer may stop early
		break
	}
}

// TestJSONText follows "How FOR JSON converts SQL Server data types to JSON data types".
func TestJSONText(t *testing.T) {
	for _, c := range []struct{ typ, in, want string }{
		{"int", "5", "5"}, {"bit", "1", "true"}, {"decimal(9,2)", "1.5", "1.50"}, {"money", "1.5", "1.5000"},
		{"float", "1.5", "1.500000000000000e+000"}, {"nvarchar(20)", `a"b/`, `"a\"b\/"`},
		{"date", "2020-01-02", `"2020-01-02"`},
		{"datetime", "2020-01-02 03:04:05", `"2020-01-02T03:04:05"`},
		{"datetime2(7)", "2020-01-02 03:04:05.1234567", `"2020-01-02T03:04:05.1234567"`},
		{"varbinary(5)", "ab", `"YWI="`}, {"int", "NULL", "null"},
		{"uniqueidentifier", "6F9619FF-8B86-D011-B42D-00C04FC964FF", `"6F9619FF-8B86-D011-B42D-00C04FC964FF"`},
	} {
		a := as(t, c.typ, c.in)
		got, err := JSONText(a.v, a.t, false)
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
		_, err := scanJSON(nil, s)
		if errNumber(err) != 40517 && (err == nil) != json.Valid([]byte(s)) {
			t.Fatalf("%q: %v, encoding/json says %v", s, err, json.Valid([]byte(s)))
		}
		for _, name := range []string{"JSON_VALUE", "JSON_QUERY", "JSON_MODIFY"} {
			ts := []types.Type{types.NVarCharMax, types.NVarCharMax, types.IntType}
			v, err := table[name].Long(nil, nil, ts, types.NVarCharMax, []types.Value{s, path, int64(1)})
			if text, ok := v.(string); err == nil && ok && name != "JSON_VALUE" && !json.Valid([]byte(text)) {
				t.Fatalf("%s(%q, %q) = %q", name, s, path, text)
			}
		}
	})
}

// TestOpenJSONWithMembers reads columns that are members of each element, with elements of all
// kinds.
func TestOpenJSONWithMembers(t *testing.T) {
	columns := []JSONColumn{{Name: "a", Type: types.IntType}, {Name: "q\"k", Type: types.NVarCharMax}, {Name: "b", Type: types.NVarCharMax, AsJSON: true}}
	const text = ` [ {"a":1,"a":2,"q\"k":"x\ty","b":[{"a":9},"]"]} , 5, {"b":{"a":3},"a":null,"c":[[{}]]}, [1,{"a":7}], { }, "a", {"a" : -4 , "b":1,"q\u0022k":"z"}] `
	want := [][]types.Value{
		{int64(1), "x\ty", `[{"a":9},"]"]`}, {nil, nil, nil}, {nil, nil, `{"a":3}`}, {nil, nil, nil}, {nil, nil, nil},
		{nil, nil, nil}, {int64(-4), "z", nil},
	}
	rows, err := rowsOf(OpenJSONWith(nil, text, "$", columns))
	require.NoError(t, err)
	require.Equal(t, want, rows)
	// With a path of two steps, each column is looked up separately.
	rows, err = rowsOf(OpenJSONWith(nil, text, "$", append(columns, JSONColumn{Name: "x", Type: types.IntType, Path: "$.b.a"})))
	require.NoError(t, err)
	for i, row := range rows {
		require.Equal(t, want[i], row[:3])
	}
	rows, err = rowsOf(OpenJSONWith(nil, `{"o":`+text+`}`, "$.o[2]", columns))
	require.NoError(t, err)
	require.Equal(t, want[2:3], rows)
	// Malformed JSON is reported before a column that cannot be converted.
	_, err = rowsOf(OpenJSONWith(nil, `[{"a":"x"},`, "$", columns))
	require.ErrorContains(t, err, "JSON text is not properly formatted")
}

// TestJSONNumbers checks the scanner against JSON's grammar of numbers.
func TestJSONNumbers(t *testing.T) {
	for text, ok := range map[string]bool{
		"0": true, "-0": true, "10": true, "1.5": true, "-1.50e10": true, "1E-2": true, "0e+5": true,
		"01": false, "-": false, "1.": false, ".5": false, "1e": false, "1e+": false, "--1": false, "+1": false,
		"-.5": false, "0x1": false,
	} {
		_, err := scanJSON(nil, text)
		require.Equal(t, ok, err == nil, text)
	}
}

func BenchmarkOpenJSONWith(b *testing.B) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, `%s{"task_id":%d,"attempt":1,"outcome":"Succeeded","message":"","elapsed_ms":0}`, map[bool]string{true: "[", false: ","}[i == 0], 100000+i)
	}
	text.WriteString("]")
	var columns []JSONColumn
	for _, name := range []string{"task_id", "attempt", "outcome", "message", "error_number", "error_severity", "error_state", "error_line", "rows_affected", "elapsed_ms", "session_id"} {
		c := JSONColumn{Name: name, Type: types.BigIntType}
		if name == "outcome" || name == "message" {
			c.Type = types.NVarCharMax
		}
		columns = append(columns, c)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range OpenJSONWith(nil, text.String(), "$", columns) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
