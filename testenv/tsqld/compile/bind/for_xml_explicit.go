package bind

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// The directives of FOR XML EXPLICIT. Attributes of the types ID and IDREF look like others,
// because no schema is returned.
var (
	explicitForms = []string{"element", "elementxsinil", "xml", "xmltext", "cdata"}
	explicitTypes = []string{"id", "idref", "nmtoken"}
)

// explicitColumns reads the names of the columns of FOR XML EXPLICIT ("Use EXPLICIT mode with FOR
// XML"). Errors: 6803 and 6804 for the types of the first two columns, 6820 for their names, 6802
// for another name, 6812 for a tag with two names, 6817 for directives that exclude each other.
func explicitColumns(q *tree.Query) ([]keys.XMLColumn, error) {
	if len(q.Columns) < 3 {
		return nil, mserr.XMLExplicitColumns()
	}
	for i, name := range []string{"TAG", "PARENT"} {
		if !strings.EqualFold(q.Columns[i].Name, name) {
			return nil, mserr.Of(6820, i+1, name, q.Columns[i].Name)
		}
	}
	if !q.Columns[0].Type.IsInteger() {
		return nil, mserr.XMLExplicitTag()
	}
	if t := q.Columns[1].Type; !t.IsInteger() && t.ID != types.Null {
		return nil, mserr.XMLExplicitParent()
	}
	var out []keys.XMLColumn
	for _, c := range q.Columns[2:] {
		x, err := explicitColumn(c.Name)
		if err != nil {
			return nil, err
		}
		for _, other := range out {
			if other.Tag == x.Tag && other.Element != x.Element {
				return nil, mserr.Of(6812, x.Tag, other.Element, x.Element)
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// explicitColumn reads the name of one column.
func explicitColumn(name string) (keys.XMLColumn, error) {
	parts := strings.Split(name, "!")
	invalid := mserr.Of(6802, name)
	if len(parts) < 2 || parts[0] == "" {
		return keys.XMLColumn{}, invalid
	}
	tag, err := strconv.Atoi(parts[1])
	if err != nil || tag < 1 {
		return keys.XMLColumn{}, invalid
	}
	x := keys.XMLColumn{Tag: tag, Element: keys.XMLName(parts[0])}
	if len(parts) > 2 {
		x.Name = keys.XMLName(parts[2])
	}
	for _, word := range parts[min(len(parts), 3):] {
		switch word = strings.ToLower(word); {
		case word == "hide":
			x.Hidden = true
		case slices.Contains(explicitForms, word):
			if x.Kind != "" {
				return keys.XMLColumn{}, mserr.Of(6817, name)
			}
			x.Kind = word
		case word == "idrefs", word == "nmtokens":
			return keys.XMLColumn{}, mserr.NotSupported("the directive %s of FOR XML EXPLICIT", word)
		case !slices.Contains(explicitTypes, word):
			return keys.XMLColumn{}, invalid
		}
	}
	switch {
	case x.Kind == "cdata" && x.Name != "":
		return keys.XMLColumn{}, mserr.Of(6819, name)
	case x.Kind == "" && x.Name == "":
		x.Kind = "element"
	}
	return x, nil
}
