package drift

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strings"
)

// Options say what is compared.
type Options struct {
	// SystemNames compares also the names that the system gave to constraints.
	SystemNames bool
	// Permissions compares roles, their members and permissions.
	Permissions bool
	// IgnoreConstraintNames leaves out the names of all constraints.
	IgnoreConstraintNames bool
	// IgnoreCollations, IgnoreFillFactors and IgnoreColumnOrder leave these out.
	IgnoreCollations, IgnoreFillFactors, IgnoreColumnOrder bool
	// IgnoreTrust leaves out that a constraint was not checked against the rows that were there
	// (is_not_trusted).
	IgnoreTrust bool
	// Leave reports whether an object of a schema and a name is left out, with all that belongs to
	// it; nil leaves out none. The name is "" for the schema itself.
	Leave func(schema, name string) bool
}

// compares reports whether an object is compared.
func (o *Options) compares(x *Object) bool {
	switch x.Kind {
	case KindRole, KindMember, KindPermission:
		if !o.Permissions {
			return false
		}
	}
	if o.Leave == nil {
		return true
	}
	switch {
	case x.Kind == KindSchema:
		return !o.Leave(x.Name, "")
	case x.Schema == "":
		return true
	case x.Table != "":
		return !o.Leave(x.Schema, x.Table)
	}
	return !o.Leave(x.Schema, x.Name)
}

// keeps reports whether a property is compared.
func (o *Options) keeps(property string) bool {
	switch property {
	case PropertyCollation:
		return !o.IgnoreCollations
	case PropertyFillFactor, PropertyPadded:
		return !o.IgnoreFillFactors
	case PropertyColumnOrder:
		return !o.IgnoreColumnOrder
	case PropertyNotTrusted:
		return !o.IgnoreTrust
	}
	return true
}

// named reports whether the name of an object is compared.
func (o *Options) named(x *Object) bool {
	if !x.Kind.constraint() {
		return true
	}
	return !o.IgnoreConstraintNames && (!x.SystemNamed || o.SystemNames)
}

// Hash is the SHA-256 of an object or of a database.
type Hash [sha256.Size]byte

// identify returns the key of an object. A constraint without a name that counts is identified by
// what it says.
func (o *Options) identify(x *Object) Key {
	k := Key{Kind: x.Kind, Schema: x.Schema, Table: x.Table, Name: x.Name}
	switch {
	case x.Kind == KindPrimaryKey: // a table has one
		k.Name = ""
	case x.Kind == KindDefault: // a column has one
		k.Name = x.Properties.Get(PropertyColumn)
	case o.named(x):
	case x.Kind == KindCheck:
		k.Name = "(" + x.Properties.Get(PropertyDefinition) + ")"
	case x.Kind == KindUnique:
		k.Name = "(" + x.Properties.Get(PropertyKey) + ")"
	case x.Kind == KindForeignKey:
		k.Name = "(" + x.Properties.Get(PropertyKey) + " to " + x.Properties.Get(PropertyReferences) + ")"
	}
	return k
}

// canonical returns the key of an object, and the hash of what is compared of it: the key, and
// the properties with their lengths, so that no text can pass for another one.
func (o *Options) canonical(x *Object) (Key, Hash) {
	k := o.identify(x)
	d := newDigest()
	d.text(string(k.Kind))
	d.text(k.Schema)
	d.text(k.Table)
	d.text(k.Name)
	if k.Name != x.Name && o.named(x) {
		d.text(PropertyName)
		d.text(x.Name)
	}
	for _, p := range x.Properties {
		if o.keeps(p.Name) {
			d.text(p.Name)
			d.text(p.Value)
		}
	}
	var sum Hash
	d.Sum(sum[:0])
	return k, sum
}

// digest is a hash of texts.
type digest struct{ hash.Hash }

// newDigest returns an empty digest.
func newDigest() digest { return digest{sha256.New()} }

// text adds a text with its length.
func (d digest) text(s string) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(s)))
	d.Write(length[:])
	d.Write([]byte(s))
}

// LeaveOut returns a function for [Options] that leaves out the objects whose names match one of
// the patterns: "schema.object" with * and ?, or "schema" for all of a schema. match compares a
// pattern with a name.
func LeaveOut(patterns []string, match func(pattern, name string) bool) func(schema, name string) bool {
	if len(patterns) == 0 {
		return nil
	}
	return func(schema, name string) bool {
		for _, p := range patterns {
			ofSchema, ofName, both := strings.Cut(p, ".")
			if match(ofSchema, schema) && (!both || name != "" && match(ofName, name)) {
				return true
			}
		}
		return false
	}
}
