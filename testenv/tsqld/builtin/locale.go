package builtin

// dated are the functions that read or print dates as texts, in the locale of their Env. textual
// are the functions that convert arguments to texts.
var (
	dated   = names(dateFuncs, formatFuncs)
	textual = names(stringFuncs, stringSearchFuncs, stringMakeFuncs)
)

// names returns the names of the functions in some lists.
func names(lists ...[]*Func) map[string]bool {
	m := map[string]bool{}
	for _, list := range lists {
		for _, f := range list {
			m[f.Name] = true
		}
	}
	return m
}

// Dated reports whether the function depends on the locale of its Env.
func (f *Func) Dated() bool { return dated[f.Name] }

// Textual reports whether the function converts arguments of other types to texts.
func (f *Func) Textual() bool { return textual[f.Name] }
