// Package auth manages operators, the people who run the hub: their accounts,
// passwords, logins and tokens.
package auth

import (
	"context"
	"net/mail"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module/rest"
)

// The two roles of operators.
const (
	RoleAdmin   = "admin"   // everything
	RoleSupport = "support" // reads, retries and replays; never sees a secret
)

// DefaultEmail is the first operator's address where none is configured.
const DefaultEmail = "admin@localhost"

// LocalLabel names the operator behind a [LocalToken].
const LocalLabel = "local command line"

// Operator is a person at the console, or a program that acts as one.
type Operator struct {
	ID        uuid.UUID // uuid.Nil for the local command line
	IsToken   bool      // a program with an [APIToken], whose id it is
	Email     string
	Name      string
	Role      string
	Disabled  bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Label names the operator for people: the address, or the name where there is none. That of
// a token begins with the word.
func (o Operator) Label() string {
	if o.IsToken {
		return "token " + o.Name
	}
	if o.Email == "" {
		return o.Name
	}
	return o.Email
}

// Actor returns the operator as the audit log names it.
func (o Operator) Actor() audit.Actor {
	actor := audit.Actor{Type: audit.ActorOperator, Label: o.Label()}
	if o.IsToken {
		actor.Type, actor.Label = audit.ActorToken, o.Name
	}
	if o.ID != uuid.Nil {
		actor.ID = o.ID.String()
	}
	return actor
}

// Config holds the settings of a [Service].
type Config struct {
	SigningKey []byte           // of access tokens, 32 bytes
	AccessTTL  time.Duration    //
	RefreshTTL time.Duration    //
	Local      LocalToken       // the zero token: none
	Now        func() time.Time //

	// HashMemory is what one password hash takes, in KiB; 0 = 19 MiB. Only hashes made with
	// the same value match.
	HashMemory uint32
}

// Service manages operators and their logins.
type Service struct {
	db     *pgxpool.Pool
	config Config
	hasher *hasher
	signer signer
	checks turnGate // of logins that look at the database before their turn
}

// byAdmin is the requester of the passwords that administrators set for operators.
var byAdmin = requester{isKnown: true, name: "administrators"}

// NewService returns a service.
func NewService(db *pgxpool.Pool, config Config) *Service {
	return &Service{
		db: db, config: config, hasher: newHasher(config.HashMemory), signer: newSigner(config.SigningKey, tokenAudience),
		checks: turnGate{slots: max(1, int(db.Config().MaxConns)/4)},
	}
}

// Draft describes a new operator.
type Draft struct {
	Email    string
	Name     string
	Role     string
	Password string
}

// Change is an operator's new state.
type Change struct {
	Email    string
	Name     string
	Role     string
	Password string // "" keeps the old one; a new one ends every login
	Disabled *bool  // nil keeps it as it is
}

// List returns up to limit operators, newest first, older than the operator before.
func (s *Service) List(ctx context.Context, before *uuid.UUID, limit int) ([]Operator, error) {
	rows, err := dbgen.New(s.db).ListOperators(ctx, before, int32(limit))
	if err != nil {
		return nil, store.Wrap("listing operators", err)
	}
	list := make([]Operator, len(rows))
	for i, row := range rows {
		list[i] = operatorOf(row)
	}
	return list, nil
}

// Create stores a new operator. A taken address is a [hub.ErrConflict].
func (s *Service) Create(ctx context.Context, draft Draft) (Operator, error) {
	if err := checkOperator(draft.Email, draft.Name, draft.Role); err != nil {
		return Operator{}, err
	}
	if err := checkPassword(draft.Password); err != nil {
		return Operator{}, err
	}
	hash, err := s.hasher.hash(ctx, byAdmin, draft.Password)
	if err != nil {
		return Operator{}, err
	}
	row, err := dbgen.New(s.db).CreateOperator(ctx, dbgen.CreateOperatorParams{
		ID: uuid.Must(uuid.NewV7()), Email: draft.Email, Name: draft.Name, Role: draft.Role, PasswordHash: hash,
	})
	if err != nil {
		return Operator{}, writeError("storing the operator", err)
	}
	return operatorOf(row), nil
}

// Update changes an operator. Disabling and new passwords end every login of the
// operator at once. The last admin can be neither disabled nor demoted
// ([hub.ErrConflict]).
func (s *Service) Update(ctx context.Context, id uuid.UUID, change Change) (Operator, error) {
	if err := checkOperator(change.Email, change.Name, change.Role); err != nil {
		return Operator{}, err
	}
	var hash *string
	if change.Password != "" {
		if err := checkPassword(change.Password); err != nil {
			return Operator{}, err
		}
		hashed, err := s.hasher.hash(ctx, byAdmin, change.Password)
		if err != nil {
			return Operator{}, err
		}
		hash = &hashed
	}
	var updated Operator
	err := s.inExclusiveTx(ctx, func(queries *dbgen.Queries) error {
		old, err := queries.OperatorByID(ctx, id)
		if err != nil {
			return store.Wrap("loading the operator", err)
		}
		disabled := old.Disabled
		if change.Disabled != nil {
			disabled = *change.Disabled
		}
		if disabled || change.Role != RoleAdmin {
			if err := requireOtherAdmin(ctx, queries, old); err != nil {
				return err
			}
		}
		row, err := queries.UpdateOperator(ctx, dbgen.UpdateOperatorParams{
			ID: id, Email: change.Email, Name: change.Name, Role: change.Role, Disabled: disabled, PasswordHash: hash,
		})
		if err != nil {
			return writeError("changing the operator", err)
		}
		updated = operatorOf(row)
		if disabled || hash != nil {
			now := s.config.Now()
			return store.Wrap("ending logins", queries.RevokeOperatorSessions(ctx, id, &now))
		}
		return nil
	})
	if err != nil {
		return Operator{}, store.Wrap("changing the operator", err)
	}
	return updated, nil
}

// Delete removes an operator and every login. The last admin cannot be deleted
// ([hub.ErrConflict]).
func (s *Service) Delete(ctx context.Context, id uuid.UUID) error {
	err := s.inExclusiveTx(ctx, func(queries *dbgen.Queries) error {
		old, err := queries.OperatorByID(ctx, id)
		if err != nil {
			return store.Wrap("loading the operator", err)
		}
		if err := requireOtherAdmin(ctx, queries, old); err != nil {
			return err
		}
		_, err = queries.DeleteOperator(ctx, id)
		return store.Wrap("deleting the operator", err)
	})
	return store.Wrap("deleting the operator", err)
}

// EnsureFirstOperator creates an administrator if there is no operator at all. Without
// an address it is [DefaultEmail]; without a password one is generated and returned, to
// be shown once. Replicas that start together create one operator.
func (s *Service) EnsureFirstOperator(ctx context.Context, email, password string) (created bool, generatedPassword string, err error) {
	queries := dbgen.New(s.db)
	if count, err := queries.CountOperators(ctx); err != nil || count > 0 {
		return false, "", store.Wrap("counting operators", err)
	}
	if email == "" {
		email = DefaultEmail
	}
	if password == "" {
		generatedPassword = oneTimePassword()
		password = generatedPassword
	}
	if err := checkPassword(password); err != nil {
		return false, "", err
	}
	hash, err := s.hasher.hash(ctx, byAdmin, password)
	if err != nil {
		return false, "", err
	}
	err = s.inExclusiveTx(ctx, func(queries *dbgen.Queries) error {
		if count, err := queries.CountOperators(ctx); err != nil || count > 0 {
			return store.Wrap("counting operators", err)
		}
		_, err := queries.CreateOperator(ctx, dbgen.CreateOperatorParams{
			ID: uuid.Must(uuid.NewV7()), Email: email, Name: "Administrator", Role: RoleAdmin, PasswordHash: hash,
		})
		created = err == nil
		return store.Wrap("storing the first operator", err)
	})
	if err != nil || !created {
		return false, "", store.Wrap("making the first operator", err)
	}
	return true, generatedPassword, nil
}

// inExclusiveTx runs work in a transaction that no other change of operators overlaps.
func (s *Service) inExclusiveTx(ctx context.Context, work func(queries *dbgen.Queries) error) error {
	return store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if err := queries.LockOperators(ctx); err != nil {
			return store.Wrap("locking operators", err)
		}
		return work(queries)
	})
}

// requireOtherAdmin returns a [hub.ErrConflict] if operator is the last active admin.
func requireOtherAdmin(ctx context.Context, queries *dbgen.Queries, operator dbgen.Operator) error {
	if operator.Role != RoleAdmin || operator.Disabled {
		return nil
	}
	others, err := queries.CountOtherAdmins(ctx, operator.ID)
	if err != nil {
		return store.Wrap("counting admins", err)
	}
	if others == 0 {
		return hub.Errorf(hub.ErrConflict, "last_admin", "This is the last active administrator; make another one first.")
	}
	return nil
}

// maxName is how many characters a name of an operator or an API token has at most.
const maxName = 120

func checkOperator(email, name, role string) error {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > 254 {
		return hub.Invalid("body.email", "must be an e-mail address")
	}
	if role != RoleAdmin && role != RoleSupport {
		return hub.Invalid("body.role", "must be admin or support")
	}
	return rest.CheckName(name, "body.name", maxName)
}

func writeError(doing string, err error) error {
	if store.ConstraintName(err) == "operators_email" {
		return hub.Errorf(hub.ErrConflict, "email_taken", "Another operator has this e-mail address.")
	}
	return store.Wrap(doing, err)
}

func operatorOf(row dbgen.Operator) Operator {
	return Operator{
		ID: row.ID, Email: row.Email, Name: row.Name, Role: row.Role, Disabled: row.Disabled,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}
