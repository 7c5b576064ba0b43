package catalog

import (
	"slices"
)

// Property is an extended property (sys.extended_properties): a named value of the database or of
// an object in it.
type Property struct {
	Of    PropertyOwner
	Name  string
	Value []byte // stored form of a sql_variant; nil for NULL
}

// PropertyOwner identifies the owner of an extended property.
type PropertyOwner struct {
	Class Class
	// Major is an object ID, schema_id, principal_id, user_type_id or data_space_id, depending on
	// the class; 0 for the database.
	Major int
	// Minor is a column_id, parameter_id or index_id; 0 for owners that are not part of an object.
	Minor int
}

// Property returns the extended property of an owner with a name, or nil.
func (d *Database) Property(of PropertyOwner, name string) *Property {
	for i, p := range d.properties {
		if p.Of == of && EqualNames(p.Name, name) {
			return &d.properties[i]
		}
	}
	return nil
}

// Properties returns the extended properties of the database. The caller must not change them.
func (d *Database) Properties() []Property { return d.properties }

// SetProperty adds an extended property, or replaces the value of the existing one.
func (e *Edit) SetProperty(p Property) {
	if old := e.db.Property(p.Of, p.Name); old != nil {
		p.Name = old.Name
		*old = p
	} else {
		e.db.properties = append(e.db.properties, p)
	}
	e.dirty[defKey{defProperty, 0}] = e.db.properties
}

// DropProperty removes an extended property.
func (e *Edit) DropProperty(of PropertyOwner, name string) {
	e.deleteProperties(func(p Property) bool { return p.Of == of && EqualNames(p.Name, name) })
}

// deleteProperties removes the properties for which match is true.
func (e *Edit) deleteProperties(match func(Property) bool) {
	n := len(e.db.properties)
	e.db.properties = slices.DeleteFunc(e.db.properties, match)
	if len(e.db.properties) != n {
		e.dirty[defKey{defProperty, 0}] = e.db.properties
	}
}

// dropOrphans removes the properties of dropped owners. IDs are not reused, so that new objects
// cannot inherit properties.
func (e *Edit) dropOrphans() {
	e.deleteProperties(func(p Property) bool { return !hasOwner(e.db, p.Of) })
}

// DataSpacePrimary is the data_space_id of the only filegroup.
const DataSpacePrimary = 1

// hasOwner reports whether the owner of a property exists.
func hasOwner(d *Database, of PropertyOwner) bool {
	switch of.Class {
	case ClassDatabase:
		return true
	case ClassSchema:
		return d.SchemaByID(of.Major) != nil
	case ClassPrincipal:
		return d.Principals.byID[of.Major] != nil
	case ClassType:
		return hasUserType(d, of.Major)
	case ClassTypeColumn:
		t := tableTypeByID(d, of.Major)
		return t != nil && t.Table.ColumnByID(of.Minor) != nil
	case ClassDataSpace:
		return of.Major == DataSpacePrimary
	}
	o := d.objects[int32(of.Major)]
	if o == nil {
		_, constraint := d.constraints[int32(of.Major)]
		return constraint && of.Class == ClassObject && of.Minor == 0
	}
	if of.Minor == 0 {
		return true
	}
	switch o := o.(type) {
	case *Table:
		if of.Class == ClassIndex {
			return slices.ContainsFunc(o.Indexes, func(ix *Index) bool { return ix.ID == of.Minor })
		}
		return o.ColumnByID(of.Minor) != nil
	case *View:
		return of.Minor <= len(o.Columns)
	case *Procedure:
		return of.Minor <= len(o.Params)
	case *Function:
		if of.Class == ClassParameter {
			return of.Minor <= len(o.Params)
		}
		return of.Minor <= len(o.Columns)
	}
	return false
}

// hasUserType reports whether a user-defined type exists.
func hasUserType(d *Database, id int) bool {
	for _, a := range d.aliases {
		if a.UserTypeID == id {
			return true
		}
	}
	return tableTypeByID(d, id) != nil
}

// tableTypeByID returns the table type with a user_type_id, or nil.
func tableTypeByID(d *Database, id int) *TableType {
	for _, o := range d.objects {
		if t, ok := o.(*TableType); ok && t.UserTypeID == id {
			return t
		}
	}
	return nil
}
