package drift

import (
	"regexp"
	"strings"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// certain reports whether the statement for a difference fits the databases of a shape, which may
// lack more than the object, or have another one in its place.
func (f *Fleet) certain(d found, s *shape) bool {
	if d.want < 0 {
		return false
	}
	o := f.variants[d.want].object
	if o == nil {
		return false
	}
	for _, n := range s.variants {
		have := f.variants[n].object
		if have == nil {
			return false
		}
		ofTable := have.Schema == o.Schema && have.Table == o.Table && o.Table != ""
		switch {
		// The server changes a history table with its table.
		case have.Kind == KindTable && have.Schema == o.Schema && have.Name == o.Table && have.Properties.Get(PropertyTemporal) == HistoryTable:
			return false
		// A table has one clustered index, whatever has made it.
		case clustered(o) && ofTable && clustered(have):
			return false
		// An index of the same name is in the way, even if a constraint made it.
		case indexed(o) && ofTable && n != d.got && indexed(have) && have.Name == o.Name && !o.SystemNamed:
			return false
		// ALTER VIEW drops the indexes of a view
		// (https://learn.microsoft.com/sql/t-sql/statements/alter-view-transact-sql, "Remarks").
		case o.Kind == KindView && have.Kind == KindIndex && have.Schema == o.Schema && have.Table == o.Name:
			return false
		// A module of another kind has the name.
		case o.Kind.module() && have.Kind != o.Kind && have.Schema == o.Schema && have.Name == o.Name && have.Table == "" && o.Table == "" &&
			have.Kind.ownsName():
			return false
		}
	}
	return true
}

// ownsName reports whether objects of a kind have a name in their schema that no other one may
// have.
func (k Kind) ownsName() bool {
	return k.module() && k != KindDatabaseTrigger || k == KindTable || k == KindSequence || k == KindSynonym || k == KindAssemblyModule
}

// clustered reports whether an object is, or has, a clustered index.
func clustered(o *Object) bool { return o.Properties.Get(PropertyClustered) != "" }

func indexed(o *Object) bool {
	return o.Kind == KindIndex || o.Kind == KindPrimaryKey || o.Kind == KindUnique
}

// statement returns the T-SQL that makes an object like that of the reference; "" if it is not
// certain: nothing that may lose data, and nothing that is more than one object.
func (f *Fleet) statement(d found) string {
	o := f.variants[d.want].object
	if o.Kind.module() {
		return f.module(o, d)
	}
	if d.got >= 0 {
		return ""
	}
	switch p := o.Properties; o.Kind {
	case KindSchema:
		return "CREATE SCHEMA " + tsql.Name(o.Name) + ";"
	case KindSynonym:
		return "CREATE SYNONYM " + tsql.Name(o.Schema, o.Name) + " FOR " + p.Get(PropertyDefinition) + ";"
	case KindColumn:
		return column(o)
	case KindIndex:
		return index(o)
	case KindDefault:
		return f.constraint(o) + "DEFAULT " + p.Get(PropertyDefinition) + " FOR " + tsql.Name(p.Get(PropertyColumn)) + ";"
	case KindCheck:
		return f.checked(o, "CHECK "+nfr(p)+p.Get(PropertyDefinition))
	case KindForeignKey:
		text := "FOREIGN KEY (" + p.Get(PropertyKey) + ") REFERENCES " + p.Get(PropertyReferences)
		for _, name := range []string{PropertyOnDelete, PropertyOnUpdate} {
			if action := p.Get(name); action != "" {
				text += " " + strings.ToUpper(name) + " " + action
			}
		}
		return f.checked(o, strings.TrimSuffix(text+" "+nfr(p), " "))
	case KindPrimaryKey, KindUnique:
		with, ok := indexOptions(p)
		if !ok {
			return ""
		}
		text := map[Kind]string{KindPrimaryKey: "PRIMARY KEY", KindUnique: "UNIQUE"}[o.Kind] + " NONCLUSTERED"
		if clustered(o) {
			text = strings.Replace(text, "NONCLUSTERED", "CLUSTERED", 1)
		}
		return f.constraint(o) + text + " (" + p.Get(PropertyKey) + ")" + with + ";"
	}
	return ""
}

// nfr returns NOT FOR REPLICATION with a blank, if it is on.
func nfr(p Properties) string {
	if p.Get(PropertyNFR) != "" {
		return "NOT FOR REPLICATION "
	}
	return ""
}

// constraint returns the beginning of a statement that adds a constraint.
func (f *Fleet) constraint(o *Object) string {
	text := "ALTER TABLE " + tsql.Name(o.Schema, o.Table) + " ADD "
	if !o.SystemNamed {
		text += "CONSTRAINT " + tsql.Name(o.Name) + " "
	}
	return text
}

// checked returns the statement that adds a constraint whose rows are checked. One that is not
// trusted or disabled needs more than one statement, so it is not certain.
func (f *Fleet) checked(o *Object, text string) string {
	if o.Properties.Get(PropertyNotTrusted) != "" || o.Properties.Get(PropertyDisabled) != "" {
		return ""
	}
	add := f.constraint(o)
	return strings.Replace(add, " ADD ", " WITH CHECK ADD ", 1) + text + ";"
}

// column returns the statement that adds a column: only one that may be NULL and has nothing else
// than a type and a collation, so that rows get NULL.
func column(o *Object) string {
	p := o.Properties
	text := "ALTER TABLE " + tsql.Name(o.Schema, o.Table) + " ADD " + tsql.Name(o.Name) + " " + p.Get(PropertyType)
	for _, x := range p {
		switch x.Name {
		case PropertyType:
		case PropertyCollation:
			text += " COLLATE " + x.Value
		case PropertyNull:
			if x.Value != "null" {
				return ""
			}
		default:
			return ""
		}
	}
	return text + " NULL;"
}

// index returns the statement that creates an index: a rowstore or columnstore index that is not
// clustered.
func index(o *Object) string {
	p := o.Properties
	with, ok := indexOptions(p)
	if !ok || p.Get(PropertyIndexType) != "NONCLUSTERED" {
		return ""
	}
	text := "CREATE "
	if p.Get(PropertyUnique) != "" {
		text += "UNIQUE "
	}
	text += "NONCLUSTERED INDEX " + tsql.Name(o.Name) + " ON " + tsql.Name(o.Schema, o.Table) + " (" + p.Get(PropertyKey) + ")"
	if include := p.Get(PropertyInclude); include != "" {
		text += " INCLUDE (" + include + ")"
	}
	if filter := p.Get(PropertyFilter); filter != "" {
		text += " WHERE " + filter
	}
	return text + with + ";"
}

// indexOptions returns the clause WITH of an index. ok is false for an option that it cannot set.
func indexOptions(p Properties) (with string, ok bool) {
	var list []string
	for _, x := range p {
		switch x.Name {
		case PropertyFillFactor:
			list = append(list, "FILLFACTOR = "+x.Value)
		case PropertyPadded:
			list = append(list, "PAD_INDEX = ON")
		case PropertyIgnoreDuplicates:
			list = append(list, "IGNORE_DUP_KEY = ON")
		case PropertyNoRowLocks:
			list = append(list, "ALLOW_ROW_LOCKS = OFF")
		case PropertyNoPageLocks:
			list = append(list, "ALLOW_PAGE_LOCKS = OFF")
		case PropertyKey, PropertyInclude, PropertyFilter, PropertyUnique, PropertyIndexType, PropertyClustered:
		default:
			return "", false
		}
	}
	if len(list) == 0 {
		return "", true
	}
	return " WITH (" + strings.Join(list, ", ") + ")", true
}

// goLine matches a line at which clients split a script.
var goLine = regexp.MustCompile(`(?im)^[ \t]*go\b`)

// module returns the batch that creates or replaces a module. It begins with the settings that the
// server keeps with a module, in a batch of their own.
func (f *Fleet) module(o *Object, d found) string {
	text := o.Properties.Get(PropertyText)
	h, ok := readHeader(text)
	if !ok || goLine.MatchString(text) {
		return ""
	}
	for _, p := range o.Properties {
		switch p.Name {
		case PropertyText, PropertyNullsOff, PropertyQuotedOff, PropertyFunction:
		default: // a trigger that is disabled, a text that is encrypted
			return ""
		}
	}
	if d.got >= 0 {
		for _, name := range f.different(o, f.variants[d.got].object) {
			switch name {
			case PropertyText, PropertyNullsOff, PropertyQuotedOff:
			default: // a trigger that is disabled there, a function of another kind
				return ""
			}
		}
	}
	setting := func(property string) string {
		if o.Properties.Get(property) != "" {
			return "OFF"
		}
		return "ON"
	}
	return "SET ANSI_NULLS " + setting(PropertyNullsOff) + ";\nSET QUOTED_IDENTIFIER " + setting(PropertyQuotedOff) + ";\nGO\n" +
		text[:h.create] + "CREATE OR ALTER " + strings.TrimPrefix(text[h.create:], "CREATE ") + "\nGO"
}
