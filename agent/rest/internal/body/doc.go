// Package body reads the JSON bodies of requests. It finds all faults of a body at once, each with
// its JSON path: wrong types, missing and duplicate properties, text that is not UTF-8, text behind
// the value. A type is described by its Go struct, as for encoding/json:
//
//	type member struct {
//		Type   string                `json:"type" body:"required"`
//		Server body.Field[string]    `json:"serverName"`
//	}
//
// Unknown properties are ignored, except in structs with a field _ struct{} `body:"closed"`.
// null means the same as an absent property, except for the types [Field] and json.RawMessage.
package body
