package catalog

import "fmt"

// kindNames maps a kind to sys.objects.type_desc.
var kindNames = map[Kind]string{
	KindTable: "USER_TABLE", KindView: "VIEW", KindProcedure: "SQL_STORED_PROCEDURE",
	KindScalarFunction: "SQL_SCALAR_FUNCTION",
	KindInlineFunction: "SQL_INLINE_TABLE_VALUED_FUNCTION", KindTableFunction: "SQL_TABLE_VALUED_FUNCTION",
	KindTableType: "TYPE_TABLE",
	KindSequence:  "SEQUENCE_OBJECT", KindSynonym: "SYNONYM", KindTrigger: "SQL_TRIGGER",
	KindPrimaryKey: "PRIMARY_KEY_CONSTRAINT",
	KindUnique:     "UNIQUE_CONSTRAINT", KindForeignKey: "FOREIGN_KEY_CONSTRAINT", KindCheck: "CHECK_CONSTRAINT",
	KindDefault: "DEFAULT_CONSTRAINT", KindSystemTable: "SYSTEM_TABLE",
	KindExtendedProcedure: "EXTENDED_STORED_PROCEDURE",
}

// Description returns the long name of a kind: sys.objects.type_desc.
func (k Kind) Description() string { return kindNames[k] }

// Description returns delete_referential_action_desc.
func (a Action) Description() string {
	return [...]string{"NO_ACTION", "CASCADE", "SET_NULL", "SET_DEFAULT"}[a]
}

// TypeTableName returns the generated name of a table type's table in sys.all_objects.
func TypeTableName(h *Header) string { return fmt.Sprintf("TT_%s_%08X", h.Name, uint32(h.ObjectID)) }
