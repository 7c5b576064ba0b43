package targets_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/inventory"
)

// text shows databases with their tags.
func text(t *testing.T, list []inventory.Database) string {
	t.Helper()
	var b strings.Builder
	for _, d := range list {
		tags, err := json.Marshal(d.Tags)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s/%s %s\n", d.Server, d.Database, tags)
	}
	return b.String()
}

// The answer was written after the documentation of Azure Resource Graph and the output in
// https://github.com/Azure/azure-cli-extensions/issues/4101; it is not recorded.
func TestReadAzureResourceGraph(t *testing.T) {
	answer, err := os.ReadFile("testdata/inventory_answer.json")
	require.NoError(t, err)
	want := `shop-eu.database.windows.net/Tenant01 {"empty":"","tier":"gold"}
shop-us.database.windows.net/Tenant 02 {"tier":"free"}
gov.database.usgovcloudapi.net/Tenant03 {}
`
	wantNotes := []string{
		"/subscriptions/5f0c7f0e-1111-4222-8333-944455556666/resourceGroups/mi/providers/Microsoft.Sql/managedInstances/mi1/databases/Tenant04 is left out: it is not a database of Azure SQL Database",
		`the tag "cost center" is left out: a name has 1 to 128 letters, digits, _, - and . of ASCII (databases: 2)`,
		`the tag "hidden-link:x" is left out: a name has 1 to 128 letters, digits, _, - and . of ASCII (databases: 1)`,
	}
	list, notes, err := inventory.ReadAzureResourceGraph(string(answer))
	require.NoError(t, err)
	require.Equal(t, want, text(t, list))
	require.Equal(t, wantNotes, notes)

	var object struct{ Data json.RawMessage }
	require.NoError(t, json.Unmarshal(answer, &object))
	list, notes, err = inventory.ReadAzureResourceGraph("\ufeff\n" + string(object.Data))
	require.NoError(t, err)
	require.Equal(t, want, text(t, list))
	require.Equal(t, wantNotes, notes)
}

func TestAzureResourceGraphIsRefused(t *testing.T) {
	const id = `"id": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Sql/servers/a/databases/d"`
	for answer, want := range map[string]string{
		``:             "want the JSON that az graph query prints",
		`{}`:           "with an array data",
		`{"data": {}}`: "want the JSON that az graph query prints",
		`{"data": [{` + id + `}], "skip_token": "ew0K", "total_records": 1}`: "the answer is incomplete: it has 1 rows",
		`{"data": [{` + id + `}], "skip_token": null, "total_records": 2}`:   "the answer is incomplete",
		`{"data": [], "$skipToken": "x"}`:                                    "the answer is incomplete",
		`{"data": [], "totalRecords": 1}`:                                    "the answer is incomplete",
		`{"data": [], "resultTruncated": "true"}`:                            "the answer is incomplete",
		`[{"name": "d"}]`:                      "row 1 has no id",
		`[{` + id + `}, 7]`:                    "row 2: ",
		`[{` + id + `, "server_name": "a;b"}]`: `row 1: invalid server name "a;b"`,
	} {
		_, _, err := inventory.ReadAzureResourceGraph(answer)
		require.ErrorContains(t, err, want, answer)
	}
}

func TestAzureTagsThatDoNotFit(t *testing.T) {
	tags := map[string]any{"zz": "too many", "a.number": 7, "a.long": strings.Repeat("😀", 129)}
	for i := range 50 {
		tags[fmt.Sprint("t", i)] = strings.Repeat("😀", 128)
	}
	row := []map[string]any{{"id": "/x/Microsoft.Sql/servers/a/databases/d", "tags": tags}}
	answer, err := json.Marshal(row)
	require.NoError(t, err)
	list, notes, err := inventory.ReadAzureResourceGraph(string(answer))
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Len(t, list[0].Tags, 50)
	require.Equal(t, []string{
		`the tag "a.long" is left out: a value has at most 256 characters (databases: 1)`,
		`the tag "a.number" is left out: its value is not a text (databases: 1)`,
		`the tag "zz" is left out: there are more than 50 tags (databases: 1)`,
	}, notes)
}

func TestReadCSV(t *testing.T) {
	list, err := inventory.ReadCSV("database_name,tier,server_name\nd1,gold,s\n\"d,2\",,s\n", 2)
	require.NoError(t, err)
	require.Equal(t, "s/d1 {\"tier\":\"gold\"}\ns/d,2 {\"tier\":null}\n", text(t, list))
	_, err = inventory.ReadCSV("server_name,database_name\ns,d\n", 3)
	require.ErrorContains(t, err, "want the columns server_name and database_name, and one for each tag")
}

// FuzzAzureResourceGraph: whatever the answer is, databases have names that a group can have, and
// tags within the limits.
func FuzzAzureResourceGraph(f *testing.F) {
	answer, err := os.ReadFile("testdata/inventory_answer.json")
	require.NoError(f, err)
	f.Add(string(answer))
	f.Add(`[{"id": "/Microsoft.Sql/servers/a/databases/d", "tags": {"a": "b"}}]`)
	f.Fuzz(func(t *testing.T, answer string) {
		list, _, err := inventory.ReadAzureResourceGraph(answer)
		if err != nil {
			require.Empty(t, list)
		}
		for _, d := range list {
			require.NoError(t, targets.CheckServer(d.Server))
			require.NotEmpty(t, d.Database)
			require.False(t, strings.EqualFold(d.Database, "master"))
			require.LessOrEqual(t, len(d.Tags), 50)
		}
	})
}
