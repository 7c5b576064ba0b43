package sysproc

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// maxProperty is the maximum size of an extended property in bytes (documentation:
// sp_addextendedproperty).
const maxProperty = 7500

// propertyProcedures returns the procedures for extended properties.
func propertyProcedures() []*Procedure {
	const levels = ", @level0type varchar(128) = NULL, @level0name sysname = NULL, @level1type varchar(128) = NULL, " +
		"@level1name sysname = NULL, @level2type varchar(128) = NULL, @level2name sysname = NULL"
	return []*Procedure{
		native("sp_addextendedproperty", "@name sysname, @value sql_variant = NULL"+levels, (*Executor).addProperty),
		native("sp_updateextendedproperty", "@name sysname, @value sql_variant = NULL"+levels, (*Executor).updateProperty),
		native("sp_dropextendedproperty", "@name sysname"+levels, (*Executor).dropProperty),
	}
}

// addProperty executes sp_addextendedproperty.
func (r *Executor) addProperty(a Arguments) (int32, error) {
	return r.property("sp_addextendedproperty", a, func(e *catalog.Edit, p catalog.Property, label string) error {
		if e.Database().Property(p.Of, p.Name) != nil {
			return mserr.PropertyExists(p.Name, label)
		}
		e.SetProperty(p)
		return nil
	})
}

// updateProperty executes sp_updateextendedproperty.
func (r *Executor) updateProperty(a Arguments) (int32, error) {
	return r.property("sp_updateextendedproperty", a, func(e *catalog.Edit, p catalog.Property, label string) error {
		if e.Database().Property(p.Of, p.Name) == nil {
			return mserr.NoProperty(p.Name, label)
		}
		e.SetProperty(p)
		return nil
	})
}

// dropProperty executes sp_dropextendedproperty.
func (r *Executor) dropProperty(a Arguments) (int32, error) {
	return r.property("sp_dropextendedproperty", a, func(e *catalog.Edit, p catalog.Property, label string) error {
		if e.Database().Property(p.Of, p.Name) == nil {
			return mserr.NoProperty(p.Name, label)
		}
		e.DropProperty(p.Of, p.Name)
		return nil
	})
}

// property finds the owner of a property and calls change.
func (r *Executor) property(
	proc string, a Arguments, change func(e *catalog.Edit, p catalog.Property, label string) error,
) (int32, error) {
	p := catalog.Property{Name: a.text("name")}
	p.Value, _ = a["value"].([]byte)
	l, ok := levelsOf(a)
	if p.Name == "" || !ok {
		return 1, mserr.InvalidProcArgument(proc)
	}
	t, v, err := types.VariantUnpack(a["value"])
	if err != nil {
		return 1, err
	}
	if s, ok := v.(string); ok && (t.IsUnicode() && 2*len([]rune(s)) > maxProperty || len(s) > maxProperty) {
		return 1, mserr.PropertyTooLong()
	}
	if b, ok := v.([]byte); ok && len(b) > maxProperty {
		return 1, mserr.PropertyTooLong()
	}
	err = r.s.Alter(r.ctx, r.s.DatabaseByID(r.s.DatabaseID), func(d *catalog.Database, e *catalog.Edit) error {
		of, on, ok := propertyOwner(d, l)
		if !ok || on.Class == catalog.ClassObject && !r.objects.Visible(d, d.ObjectByID(int32(on.Major))) {
			return mserr.NoPropertyOwner(l.label())
		}
		if !r.s.May(d, "ALTER", on) &&
			!(on.Class == catalog.ClassObject && r.s.MayAlter(d, d.ObjectByID(int32(on.Major)))) {
			return mserr.NoPropertyOwner(l.label())
		}
		p.Of = of
		return change(e, p, l.label())
	})
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// levels holds the types and names that identify the owner of an extended property.
type levels struct {
	types [3]string // in upper case; "" from the first omitted level on
	names [3]string
}

// levelTypes are the types of each level (documentation: sp_addextendedproperty).
var levelTypes = [3]string{
	"|ASSEMBLY|CONTRACT|EVENT NOTIFICATION|FILEGROUP|MESSAGE TYPE|PARTITION FUNCTION|PARTITION SCHEME|PLAN GUIDE|REMOTE SERVICE BINDING|ROUTE|SCHEMA|SERVICE|TRIGGER|TYPE|USER|",
	"|AGGREGATE|DEFAULT|FUNCTION|LOGICAL FILE NAME|PROCEDURE|QUEUE|RULE|SEQUENCE|SYNONYM|TABLE|TABLE_TYPE|TYPE|VIEW|XML SCHEMA COLLECTION|",
	"|COLUMN|CONSTRAINT|EVENT NOTIFICATION|INDEX|PARAMETER|TRIGGER|",
}

// levelsOf parses the levels. ok is false for a type without a name, a name without a type, an
// unknown type, or a level below an omitted one.
func levelsOf(a Arguments) (l levels, ok bool) {
	for i := range l.types {
		n := string(rune('0' + i))
		l.types[i], l.names[i] = strings.ToUpper(strings.TrimSpace(a.text("level"+n+"type"))), a.text("level"+n+"name")
		switch {
		case (l.types[i] == "") != (l.names[i] == ""), i > 0 && l.types[i] != "" && l.types[i-1] == "":
			return l, false
		case l.types[i] != "" && !strings.Contains(levelTypes[i], "|"+l.types[i]+"|"):
			return l, false
		}
	}
	return l, true
}

// label returns the name of the owner in messages.
func (l levels) label() string {
	if l.types[0] == "" {
		return "object specified"
	}
	label := l.names[0]
	for i, n := range l.names[1:] {
		if l.types[i+1] != "" {
			label += "." + n
		}
	}
	return label
}

// propertyOwner returns the owner that the levels identify, and the securable whose permissions
// apply.
func propertyOwner(d *catalog.Database, l levels) (of catalog.PropertyOwner, on catalog.Securable, ok bool) {
	plain := func(c catalog.Class, major int) (catalog.PropertyOwner, catalog.Securable, bool) {
		return catalog.PropertyOwner{Class: c, Major: major}, catalog.Securable{Class: c, Major: major}, true
	}
	switch {
	case l.types[0] == "":
		return plain(catalog.ClassDatabase, 0)
	case l.types[1] != "":
		if l.types[0] == "SCHEMA" || l.types[0] == "USER" { // "Schema vs. User": USER means the schema with that name
			return propertyOwnerIn(d, l)
		}
	case l.types[0] == "SCHEMA":
		if s := d.Schema(l.names[0]); s != nil && s.ID != catalog.SchemaSys && s.ID != catalog.SchemaInformationSchema {
			return plain(catalog.ClassSchema, s.ID)
		}
	case l.types[0] == "USER":
		if p := d.Principals.Find(l.names[0]); p != nil && !p.Fixed {
			return plain(catalog.ClassPrincipal, p.ID)
		}
	case l.types[0] == "TYPE":
		return typeOwner(d, "dbo", l.names[0])
	case l.types[0] == "FILEGROUP" && catalog.EqualNames(l.names[0], "PRIMARY"):
		return catalog.PropertyOwner{
			Class: catalog.ClassDataSpace, Major: catalog.DataSpacePrimary,
		}, catalog.Securable{Class: catalog.ClassDatabase}, true
	}
	return of, on, false
}

// typeOwner returns a user-defined type as the owner of a property.
func typeOwner(d *catalog.Database, schema, name string) (of catalog.PropertyOwner, on catalog.Securable, ok bool) {
	id := 0
	if a := d.AliasType(schema, name); a != nil {
		id = a.UserTypeID
	} else if t := d.TableType(schema, name); t != nil {
		id = t.UserTypeID
	}
	s := d.Schema(schema)
	if id == 0 || s == nil {
		return of, on, false
	}
	return catalog.PropertyOwner{Class: catalog.ClassType, Major: id}, catalog.Securable{
		Class: catalog.ClassSchema, Major: s.ID,
	}, true
}

// levelKinds maps a type of level 1 to kinds of objects.
var levelKinds = map[string][]catalog.Kind{
	"TABLE": {catalog.KindTable}, "VIEW": {catalog.KindView}, "PROCEDURE": {catalog.KindProcedure},
	"SYNONYM": {catalog.KindSynonym}, "SEQUENCE": {catalog.KindSequence},
	"FUNCTION": {catalog.KindScalarFunction, catalog.KindInlineFunction, catalog.KindTableFunction},
}

// propertyOwnerIn returns an owner inside a schema.
func propertyOwnerIn(d *catalog.Database, l levels) (of catalog.PropertyOwner, on catalog.Securable, ok bool) {
	if l.types[1] == "TYPE" || l.types[1] == "TABLE_TYPE" {
		of, on, ok = typeOwner(d, l.names[0], l.names[1])
		if !ok || l.types[2] == "" {
			return of, on, ok
		}
		t := d.TableType(l.names[0], l.names[1])
		if t == nil || l.types[2] != "COLUMN" || t.Table.Column(l.names[2]) == nil {
			return of, on, false
		}
		of.Class, of.Minor = catalog.ClassTypeColumn, t.Table.Column(l.names[2]).ID
		return of, on, true
	}
	o := d.Object(l.names[0], l.names[1])
	if o == nil {
		return of, on, false
	}
	h := o.Head()
	known := false
	for _, k := range levelKinds[l.types[1]] {
		known = known || k == h.Kind
	}
	if !known {
		return of, on, false
	}
	on = catalog.Securable{Class: catalog.ClassObject, Major: int(h.ObjectID)}
	of = catalog.PropertyOwner{Class: catalog.ClassObject, Major: int(h.ObjectID)}
	if l.types[2] == "" {
		return of, on, true
	}
	of, ok = partOwner(o, of, l.types[2], l.names[2])
	return of, on, ok
}

// partOwner returns a part of an object as the owner of a property.
func partOwner(o catalog.Object, of catalog.PropertyOwner, kind, name string) (catalog.PropertyOwner, bool) {
	t, _ := o.(*catalog.Table)
	switch kind {
	case "COLUMN":
		if t != nil {
			if c := t.Column(name); c != nil {
				of.Minor = c.ID
			}
			break
		}
		for i, c := range moduleColumns(o) {
			if catalog.EqualNames(c.Name, name) {
				of.Minor = i + 1
			}
		}
	case "PARAMETER":
		of.Class = catalog.ClassParameter
		for i, p := range paramsOf(o) {
			if catalog.EqualNames(p.Name, name) {
				of.Minor = i + 1
			}
		}
	case "INDEX":
		of.Class = catalog.ClassIndex
		if t != nil && t.Index(name) != nil {
			of.Minor = t.Index(name).ID
		}
	case "CONSTRAINT", "TRIGGER":
		if t == nil {
			return of, false
		}
		for _, c := range t.Constraints() {
			if catalog.EqualNames(c.Name, name) && (c.Kind == catalog.KindTrigger) == (kind == "TRIGGER") {
				of.Major = int(c.ObjectID)
				return of, true
			}
		}
	}
	return of, of.Minor != 0
}

// moduleColumns returns the columns of a view or table-valued function.
func moduleColumns(o catalog.Object) []types.Column {
	switch o := o.(type) {
	case *catalog.View:
		return o.Columns
	case *catalog.Function:
		return o.Columns
	}
	return nil
}

// paramsOf returns the parameters of a procedure or function.
func paramsOf(o catalog.Object) []catalog.Param {
	switch o := o.(type) {
	case *catalog.Procedure:
		return o.Params
	case *catalog.Function:
		return o.Params
	}
	return nil
}
