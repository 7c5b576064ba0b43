package builtin

// dated are the functions that read or write texts of dates in the locale of their environment; textual those that read arguments as texts.
var (
	dated   = names(dateFuncs, formatFuncs)
	textual = names(stringFuncs, stringSearchFuncs, stringMakeFuncs)
)

// names is the set of the functions in some lists.
func names(lists ...[]*Func) map[string]bool {
	m := map[string]bool{}
	for _, list := range lists {
		for _, f := range list {
			m[f.Name] = true
		}
	}
	return m
}

// Dated reports whether the function depends on the locale of its environment.
func (f *Func) Dated() bool { return dated[f.Name] }

// Textual reports whether the function reads arguments of other types as texts.
func (f *Func) Textual() bool { return textual[f.Name] }
