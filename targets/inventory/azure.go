package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/jobagent/jobagent/targets"
)

// azureSQL is the domain of the servers of Azure SQL Database in the public cloud.
const azureSQL = ".database.windows.net"

// maxTags is the largest number of tags of a database, as jobs.sp_set_target_tags has it.
const maxTags = 50

// answer is what az graph query prints since version 2 of the extension resource-graph, or what the
// REST API returns (the members in camel case).
type answer struct {
	Data         []json.RawMessage `json:"data"`
	SkipToken    string            `json:"skip_token"`
	Total        *int              `json:"total_records"`
	RESTToken    string            `json:"$skipToken"`
	RESTTotal    *int              `json:"totalRecords"`
	RESTTruncate string            `json:"resultTruncated"`
}

// resource is a row of the table resources. ServerName is a column that a query may add, for clouds
// with another domain.
type resource struct {
	ID         string                     `json:"id"`
	ServerName string                     `json:"server_name"`
	Tags       map[string]json.RawMessage `json:"tags"`
}

// ReadAzureResourceGraph reads the answer of a query for microsoft.sql/servers/databases: the
// object with data, or only the array of rows. An incomplete answer is refused. The database
// master is left out without a word; notes say what else was left out.
func ReadAzureResourceGraph(text string) (list []Database, notes []string, err error) {
	text = strings.TrimPrefix(text, "\ufeff")
	var a answer
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[") {
		err = json.Unmarshal([]byte(text), &a.Data)
	} else {
		err = json.Unmarshal([]byte(text), &a)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("want the JSON that az graph query prints: %w", err)
	}
	if a.Data == nil {
		return nil, nil, errors.New("invalid JSON: want what az graph query prints, with an array data")
	}
	total := len(a.Data)
	for _, n := range []*int{a.Total, a.RESTTotal} {
		if n != nil {
			total = max(total, *n)
		}
	}
	if a.SkipToken != "" || a.RESTToken != "" || strings.EqualFold(a.RESTTruncate, "true") || total > len(a.Data) {
		return nil, nil, fmt.Errorf("the answer is incomplete: it has %d rows, and there are more. Raise --first of az graph query (up to 1000), or read all pages with --skip-token and give their rows as one array",
			len(a.Data))
	}
	left := map[string]int{} // databases by the tag that was left out, and why
	for i, raw := range a.Data {
		var r resource
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		if r.ID == "" {
			return nil, nil, fmt.Errorf("row %d has no id: the query must return the columns id and tags", i+1)
		}
		server, database, ok := namesOf(r.ID)
		if !ok {
			notes = append(notes, fmt.Sprintf("%s is left out: it is not a database of Azure SQL Database", r.ID))
			continue
		}
		if strings.EqualFold(database, "master") {
			continue
		}
		d := Database{Server: server + azureSQL, Database: database, Tags: map[string]*string{}}
		if r.ServerName != "" {
			d.Server = r.ServerName
		}
		if targets.CheckServer(d.Server) != nil {
			return nil, nil, fmt.Errorf("row %d: invalid server name %q", i+1, d.Server)
		}
		for _, name := range slices.Sorted(maps.Keys(r.Tags)) {
			value, fault := tagValue(name, r.Tags[name])
			if fault == "" && len(d.Tags) == maxTags {
				fault = fmt.Sprintf("there are more than %d tags", maxTags)
			}
			if fault != "" {
				left[fmt.Sprintf("the tag %q is left out: %s", name, fault)]++
				continue
			}
			d.Tags[name] = &value
		}
		list = append(list, d)
	}
	for _, note := range slices.Sorted(maps.Keys(left)) {
		notes = append(notes, fmt.Sprintf("%s (databases: %d)", note, left[note]))
	}
	return list, notes, nil
}

// namesOf returns the names in the id of a database: …/Microsoft.Sql/servers/SERVER/databases/NAME.
// The case of the fixed parts varies.
func namesOf(id string) (server, database string, ok bool) {
	parts := strings.Split(id, "/")
	n := len(parts)
	if n < 5 || !strings.EqualFold(parts[n-5], "microsoft.sql") || !strings.EqualFold(parts[n-4], "servers") ||
		!strings.EqualFold(parts[n-2], "databases") || parts[n-3] == "" || parts[n-1] == "" {
		return "", "", false
	}
	return parts[n-3], parts[n-1], true
}

// tagValue returns the value of a tag, or why it cannot be one here.
func tagValue(name string, raw json.RawMessage) (value, fault string) {
	if !targets.IsTagName(name) {
		return "", "a name has 1 to 128 letters, digits, _, - and . of ASCII"
	}
	if json.Unmarshal(raw, &value) != nil {
		return "", "its value is not a text"
	}
	if len(utf16.Encode([]rune(value))) > targets.MaxTagValue {
		return "", fmt.Sprintf("a value has at most %d characters", targets.MaxTagValue)
	}
	return value, ""
}
