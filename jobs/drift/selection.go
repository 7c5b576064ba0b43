package drift

import (
	"fmt"
	"slices"
	"strings"
)

// Selection says what is compared, as people write it.
type Selection struct {
	// Include are names of [IncludeNames], and Ignore of [IgnoreNames].
	Include, Ignore []string
	// Exclude are the patterns of [LeaveOut].
	Exclude []string
}

// The names of what can be left out, and of what can be compared in addition.
const (
	nameConstraints = "constraint-names"
	nameCollations  = "collations"
	nameFillFactors = "fill-factors"
	nameOrder       = "column-order"
	nameTrust       = "trust"
	namePermissions = "permissions"
	nameSystemNames = "system-names"
)

// IgnoreNames and IncludeNames return the names that a [Selection] may have.
func IgnoreNames() []string {
	return []string{nameConstraints, nameCollations, nameFillFactors, nameOrder, nameTrust}
}

// IncludeNames returns the names of what can be compared in addition; see [IgnoreNames].
func IncludeNames() []string { return []string{namePermissions, nameSystemNames} }

// Options returns the options. match compares a pattern with a name, as in [LeaveOut].
func (s Selection) Options(match func(pattern, name string) bool) (o Options, err error) {
	for _, name := range s.Ignore {
		switch name {
		case nameConstraints:
			o.IgnoreConstraintNames = true
		case nameCollations:
			o.IgnoreCollations = true
		case nameFillFactors:
			o.IgnoreFillFactors = true
		case nameOrder:
			o.IgnoreColumnOrder = true
		case nameTrust:
			o.IgnoreTrust = true
		default:
			return o, fmt.Errorf("ignore %q: want %s", name, strings.Join(IgnoreNames(), ", "))
		}
	}
	for _, name := range s.Include {
		switch name {
		case namePermissions:
			o.Permissions = true
		case nameSystemNames:
			o.SystemNames = true
		default:
			return o, fmt.Errorf("include %q: want %s", name, strings.Join(IncludeNames(), " or "))
		}
	}
	o.Leave = LeaveOut(s.Exclude, match)
	return o, nil
}

// String returns the selection in one form, whatever the order of its parts: "include permissions;
// ignore collations, trust". It is empty for the defaults.
func (s Selection) String() string {
	var all []string
	for _, part := range []struct {
		verb string
		list []string
	}{{"include", s.Include}, {"ignore", s.Ignore}, {"exclude", s.Exclude}} {
		list := slices.Clone(part.list)
		slices.Sort(list)
		if list = slices.Compact(list); len(list) > 0 {
			all = append(all, part.verb+" "+strings.Join(list, ", "))
		}
	}
	return strings.Join(all, "; ")
}
