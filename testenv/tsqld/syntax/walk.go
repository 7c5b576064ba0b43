package syntax

import (
	"reflect"
	"sync"
)

// Inspect calls f for n and, while f returns true, for the nodes below n. The order is that of the
// source, except for clauses that the tree stores elsewhere. Names ([Ident]) are not visited. n may
// be nil, or a nil pointer.
func Inspect(n Node, f func(Node) bool) { Walk(n, f, nil) }

// Walk calls pre as Inspect does. It also calls post, unless post is nil, after the children of
// each node for which pre returned true.
func Walk(n Node, pre func(Node) bool, post func(Node)) {
	w := walker{pre, post}
	if n != nil {
		w.value(reflect.ValueOf(n))
	}
}

// walker is the state of a walk.
type walker struct {
	pre  func(Node) bool
	post func(Node)
}

// value visits the nodes in a field: the node itself, the elements of a list, and the fields of a
// struct that is not a node.
func (w *walker) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		w.value(v.Elem())
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		n, ok := v.Interface().(Node)
		if ok && !w.pre(n) {
			return
		}
		w.value(v.Elem())
		if ok && w.post != nil {
			w.post(n)
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Struct:
		for _, i := range fieldsOf(v.Type()) {
			w.value(v.Field(i))
		}
	}
}

// fields has the results of fieldsOf, by reflect.Type.
var fields sync.Map

// fieldsOf returns the indexes of the fields that have nodes, in the order of their declarations.
func fieldsOf(t reflect.Type) []int {
	if known, ok := fields.Load(t); ok {
		list, _ := known.([]int)
		return list
	}
	var list []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && hasNodes(f.Type) {
			list = append(list, i)
		}
	}
	fields.Store(t, list)
	return list
}

// hasNodes reports whether a value of a type is a node, or has nodes.
func hasNodes(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice:
		return t.Implements(reflect.TypeFor[Node]()) && t.Elem() != reflect.TypeFor[Ident]() || hasNodes(t.Elem())
	case reflect.Struct:
		return len(fieldsOf(t)) > 0
	}
	return false
}
