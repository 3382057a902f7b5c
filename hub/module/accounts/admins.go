package accounts

import (
	"slices"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// LockedCaller returns the caller of a request among a tenant's locked users. The hub checked
// the caller when the request began; in the meantime another administrator may have removed
// the caller, whose request must not undo that. The error is [hub.ErrUnauthorized] for a
// caller who may no longer log in.
func LockedCaller[U any](users []U, isCaller, isActive func(U) bool) (caller U, err error) {
	i := slices.IndexFunc(users, isCaller)
	if i < 0 || !isActive(users[i]) {
		return caller, module.InvalidTokenError()
	}
	return users[i], nil
}

// AdminOnlyError returns the error for a caller who is no longer an administrator. It is the
// one of the hub for operations of administrators.
func AdminOnlyError() *hub.Error {
	return hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
}

// IsLastAdmin reports whether users[i] is the only active administrator of a tenant's
// users. The caller has locked users: otherwise two administrators could remove each
// other at once.
func IsLastAdmin[U any](users []U, i int, isActiveAdmin func(U) bool) bool {
	for j, user := range users {
		if isActiveAdmin(user) != (j == i) {
			return false
		}
	}
	return true
}
