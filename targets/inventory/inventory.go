// Package inventory reads lists of databases and their tags as other systems write them: CSV, and
// answers of Azure Resource Graph. It makes no connections.
package inventory

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/targets"
)

// Database is a database of a list.
type Database struct {
	Server, Database string
	// Tags are the values by name; nil removes a tag.
	Tags map[string]*string
}

// ReadCSV reads a table with the columns server_name and database_name, and one for each tag. An
// empty cell removes the tag. least is the number of columns that it must have.
func ReadCSV(text string, least int) ([]Database, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("want a line with the names of the columns, and a line for each database")
	}
	server, database := slices.Index(rows[0], "server_name"), slices.Index(rows[0], "database_name")
	if server < 0 || database < 0 || len(rows[0]) < least {
		return nil, fmt.Errorf("want the columns server_name and database_name, and one for each tag")
	}
	list := make([]Database, 0, len(rows)-1)
	for i, row := range rows[1:] {
		d := Database{Server: row[server], Database: row[database], Tags: map[string]*string{}}
		if err := targets.CheckServer(d.Server); err != nil || d.Database == "" {
			return nil, fmt.Errorf("line %d: want the names of a server and a database, not %q and %q", i+2, d.Server, d.Database)
		}
		for c, value := range row {
			if c == server || c == database {
				continue
			}
			if _, twice := d.Tags[rows[0][c]]; twice {
				return nil, fmt.Errorf("the column %q is there twice", rows[0][c])
			}
			d.Tags[rows[0][c]] = &value
			if value == "" {
				d.Tags[rows[0][c]] = nil
			}
		}
		list = append(list, d)
	}
	return list, nil
}
