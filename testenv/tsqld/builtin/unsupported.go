package builtin

import "strings"

// unsupported are documented functions of SQL Server whose features do not exist here. A call fails
// with a message that says so.
var unsupported = words(`
	AI_GENERATE_CHUNKS AI_GENERATE_EMBEDDINGS ASYMKEY_PRIVATEKEY CERTENCODED CERTPRIVATEKEY
	CHANGE_TRACKING_CURRENT_VERSION CHANGE_TRACKING_IS_COLUMN_IN_MASK CHANGE_TRACKING_MIN_VALID_VERSION
	DECRYPTBYASYMKEY DECRYPTBYCERT DECRYPTBYKEY DECRYPTBYKEYAUTOASYMKEY DECRYPTBYKEYAUTOCERT
	EDGE_ID_FROM_PARTS ENCRYPTBYASYMKEY ENCRYPTBYCERT ENCRYPTBYKEY EVENTDATA FULLTEXTSEARCHPROPERTY
	GETFILENAMESPACEPATH GET_FILESTREAM_TRANSACTION_CONTEXT GRAPH_ID_FROM_EDGE_ID GRAPH_ID_FROM_NODE_ID
	IS_OBJECTSIGNED NODE_ID_FROM_PARTS OBJECT_ID_FROM_EDGE_ID OBJECT_ID_FROM_NODE_ID PERMISSIONS
	PUBLISHINGSERVERNAME SIGNBYASYMKEY SIGNBYCERT TERTIARY_WEIGHTS TEXTPTR TEXTVALID
	VERIFYSIGNEDBYASYMKEY VERIFYSIGNEDBYCERT`)

// words returns the set of the words of a text.
func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// IsUnsupported reports whether name, in any case, is a function of SQL Server that is not
// supported here.
func IsUnsupported(name string) bool { return unsupported[strings.ToUpper(name)] }
