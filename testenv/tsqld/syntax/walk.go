package syntax

import (
	"reflect"
	"sync"
)

// Inspect calls f for n and, while f returns true, for the nodes below n. The order is that of the
// source, except for clauses that the tree stores elsewhere. Names ([Ident]) are not visited. A nil
// n is ignored.
func Inspect(n Node, f func(Node) bool) { Walk(n, f, nil) }

// Walk calls pre as Inspect does. It also calls post, unless post is nil, after the children of
// each node for which pre returned true.
func Walk(n Node, pre func(Node) bool, post func(Node)) {
	if n == nil {
		return
	}
	v := reflect.ValueOf(n)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return
	}
	if !pre(n) {
		return
	}
	walkFields(v.Elem(), pre, post)
	if post != nil {
		post(n)
	}
}

// nodeType is the type of the interface Node.
var nodeType = reflect.TypeFor[Node]()

// walkable caches, by struct type (reflect.Type), the indexes ([]int) of the fields that may hold
// nodes.
var walkable sync.Map

// walkFields visits the nodes in the fields of a struct.
func walkFields(v reflect.Value, pre func(Node) bool, post func(Node)) {
	t := v.Type()
	fields, ok := walkable.Load(t)
	if !ok {
		var list []int
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && mayHoldNodes(f.Type, 0) {
				list = append(list, i)
			}
		}
		fields, _ = walkable.LoadOrStore(t, list)
	}
	list, _ := fields.([]int)
	for _, i := range list {
		walkValue(v.Field(i), pre, post)
	}
}

// mayHoldNodes reports whether a value of type t may hold nodes other than names. depth ends the
// recursion of types that contain themselves; all of these hold nodes.
func mayHoldNodes(t reflect.Type, depth int) bool {
	if t == reflect.TypeFor[Ident]() || t == reflect.TypeFor[Pos]() {
		return false
	}
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer:
		return t.Implements(nodeType)
	case reflect.Slice:
		return mayHoldNodes(t.Elem(), depth)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && depth < 4 && mayHoldNodes(f.Type, depth+1) {
				return true
			}
		}
	}
	return false
}

// walkValue visits the nodes in a field.
func walkValue(v reflect.Value, pre func(Node) bool, post func(Node)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if n, ok := v.Interface().(Node); ok {
			Walk(n, pre, post)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkValue(v.Index(i), pre, post)
		}
	case reflect.Struct:
		walkFields(v, pre, post)
	}
}
