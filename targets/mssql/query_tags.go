package mssql

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/jobagent/jobagent/targets"
)

// tagPrefix is the beginning of the name of a column with tags in a member's query.
const tagPrefix = "tag_"

// tagColumn is a column with tags in a member's query.
type tagColumn struct {
	name  string // name of the tag
	value func() (*string, error)
}

// tagColumns finds the columns with tags, whose values rows.Scan writes to into.
func tagColumns(names []string, into []any) ([]tagColumn, error) {
	var list []tagColumn
	seen := map[string]bool{}
	for i, column := range names {
		if !strings.HasPrefix(strings.ToLower(column), tagPrefix) {
			continue
		}
		name := column[len(tagPrefix):]
		switch {
		case !targets.IsTagName(name):
			return nil, fmt.Errorf("the query returns a column %q: want a name of %d characters or less after %s: letters, digits, _, - and .",
				column, targets.MaxTagName, tagPrefix)
		case seen[strings.ToLower(name)]:
			return nil, fmt.Errorf("the query returns the column %q twice", column)
		}
		seen[strings.ToLower(name)] = true
		list = append(list, tagColumn{name: name, value: func() (*string, error) {
			text, err := tagText(*into[i].(*any))
			if err != nil {
				return nil, fmt.Errorf("the column %s %w", column, err)
			}
			return text, nil
		}})
	}
	return list, nil
}

// tagText returns a value of a column as the value of a tag; nil for NULL.
func tagText(v any) (*string, error) {
	var text string
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		text = v
	case int64:
		text = strconv.FormatInt(v, 10)
	case bool:
		text = strconv.FormatBool(v)
	default:
		return nil, fmt.Errorf("has a type that is no tag: CAST it to NVARCHAR(%d)", targets.MaxTagValue)
	}
	if n := len(utf16.Encode([]rune(text))); n > targets.MaxTagValue {
		return nil, fmt.Errorf("has a value of %d characters: want at most %d", n, targets.MaxTagValue)
	}
	return &text, nil
}

// tagCollector collects the tags that the queries of a target group return. The queries may run at
// the same time.
type tagCollector struct {
	mu    sync.Mutex
	byKey map[string]map[string]*string // by database and name of the tag, which is folded
	names map[string]string             // the spelling of a tag's name, by the folded name
}

// add adds the tags that one query returned.
func (c *tagCollector) add(list []targets.Tags) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey, c.names = map[string]map[string]*string{}, map[string]string{}
	}
	for _, t := range list {
		key := targets.DatabaseKey(t.Target.Server, t.Target.Database)
		all := c.byKey[key]
		if all == nil {
			all = map[string]*string{}
			c.byKey[key] = all
		}
		for name, value := range t.Values {
			folded := strings.ToLower(name)
			if old, ok := all[folded]; ok && (old == nil) != (value == nil) || ok && old != nil && *old != *value {
				return fmt.Errorf("the tag %s of %s has two values: %s and %s", name, t.Target, quoted(old), quoted(value))
			}
			all[folded] = value
			if old, ok := c.names[folded]; !ok || name < old {
				c.names[folded] = name
			}
		}
	}
	return nil
}

// quoted returns the value of a tag for a message.
func quoted(value *string) string {
	if value == nil {
		return "NULL"
	}
	return strconv.Quote(*value)
}

// of returns the tags of databases, in their order, without those that have none.
func (c *tagCollector) of(list []targets.Target) []targets.Tags {
	var all []targets.Tags
	for _, t := range list {
		values := c.byKey[targets.DatabaseKey(t.Server, t.Database)]
		if len(values) == 0 {
			continue
		}
		of := targets.Tags{Target: t, Values: make(map[string]*string, len(values))}
		for folded, value := range values {
			of.Values[c.names[folded]] = value
		}
		all = append(all, of)
	}
	return all
}
