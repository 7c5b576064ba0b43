package sysviews

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// propertyClasses are the values of class_desc.
var propertyClasses = map[catalog.Class]string{
	catalog.ClassDatabase: "DATABASE", catalog.ClassObject: "OBJECT_OR_COLUMN", catalog.ClassParameter: "PARAMETER", catalog.ClassSchema: "SCHEMA",
	catalog.ClassPrincipal: "DATABASE_PRINCIPAL",
	catalog.ClassType:      "TYPE", catalog.ClassIndex: "INDEX", catalog.ClassTypeColumn: "USER_DEFINED_TABLE_TYPE_COLUMN",
	catalog.ClassDataSpace: "DATASPACE",
}

// extendedProperties are the rows of sys.extended_properties.
func extendedProperties(env *Env) []row {
	var out []row
	for _, p := range env.Database.Properties {
		o := env.Database.ObjectByID(int32(p.Of.Major))
		if c, ok := env.Database.ConstraintByID(int32(p.Of.Major)); ok {
			o = env.Database.ObjectByID(c.Table)
		}
		switch p.Of.Class {
		case catalog.ClassObject, catalog.ClassParameter, catalog.ClassIndex:
			if o == nil || !env.visible(o) {
				continue
			}
		}
		r := row{
			"class": int64(p.Of.Class), "class_desc": propertyClasses[p.Of.Class], "major_id": int64(p.Of.Major),
			"minor_id": int64(p.Of.Minor), "name": p.Name,
		}
		if p.Value != nil {
			r["value"] = p.Value
		}
		out = append(out, r)
	}
	return out
}
