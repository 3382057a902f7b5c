package accounts

import "integrationhub/hub/module/infopage"

// texts are the texts of the page and the emails in one language.
type texts struct {
	ResetTitle, ResetText   string
	InviteTitle, InviteText string
	Choice, ChoiceHint      string
	Again, Save             string
	WrongChoice             string
	WrongAgain              string
	SavedTitle, SavedText   string

	BadLinkTitle, BadLinkText string
	AskTitle, AskText         string
	Email, Send, WrongEmail   string
	SentTitle, SentText       string

	LimitedTitle, LimitedText         string // LimitedText has a placeholder for minutes
	UnavailableTitle, UnavailableText string
	BrokenTitle, BrokenText           string
	MethodTitle, MethodText           string

	Hello                      string // placeholder: the recipient's name
	InviteSubject, InviteEmail string // placeholder: the tenant's name
	ResetSubject, ResetEmail   string // placeholder in ResetEmail: the tenant's name
	NotYou                     string
}

// textsByLanguage has an entry for each language of package infopage.
var textsByLanguage = map[string]*texts{
	infopage.Portuguese: {
		ResetTitle: "Defina uma nova senha", ResetText: "Ela vale a partir de agora. Quem estiver conectado à sua conta terá de entrar de novo.",
		InviteTitle: "Defina a sua senha", InviteText: "Com ela e o seu e-mail você entra na conta que criaram para você.",
		Choice: "Nova senha", ChoiceHint: "De 8 a 128 caracteres.", Again: "A mesma senha, outra vez", Save: "Salvar a senha",
		WrongChoice: "Escolha uma senha de 8 a 128 caracteres.", WrongAgain: "As duas senhas não são iguais. Escreva a mesma nos dois campos.",
		SavedTitle: "Senha salva", SavedText: "Você já pode entrar com ela. Este link não vale mais.",
		BadLinkTitle: "Este link não vale mais", BadLinkText: "Ele já foi usado, venceu ou está incompleto. Abra o link do e-mail mais recente ou peça um novo.",
		AskTitle: "Esqueceu a senha?", AskText: "Enviaremos um link para definir uma nova.",
		Email: "Seu e-mail", Send: "Enviar um link", WrongEmail: "Escreva um e-mail como nome@exemplo.com.br.",
		SentTitle: "Confira seu e-mail", SentText: "Se houver uma conta com esse endereço, enviamos um link que vale por uma hora. Não chegou? Olhe também no spam.",
		LimitedTitle: "Muitas tentativas", LimitedText: "Espere %d min e recarregue a página.",
		UnavailableTitle: "Voltamos já", UnavailableText: "O serviço está fora do ar. O seu link continua valendo: tente de novo em instantes.",
		BrokenTitle: "Algo deu errado", BrokenText: "A falha é nossa, não sua. Tente de novo em instantes.",
		MethodTitle: "Isto não é possível aqui", MethodText: "Abra o link do e-mail que você recebeu.",
		Hello:         "Olá, %s!",
		InviteSubject: "Sua conta em %s", InviteEmail: "Criaram uma conta para você em %s. Defina a sua senha nos próximos sete dias:",
		ResetSubject: "Defina uma nova senha", ResetEmail: "Alguém, provavelmente você, pediu uma nova senha para a sua conta em %s. Defina-a dentro de uma hora:",
		NotYou: "Se não foi você, não é preciso fazer nada.",
	},
	infopage.English: {
		ResetTitle: "Set a new password", ResetText: "It is good from now on. Whoever is logged in to your account will have to log in again.",
		InviteTitle: "Set your password", InviteText: "With it and your e-mail address you log in to the account that was made for you.",
		Choice: "New password", ChoiceHint: "8 to 128 characters.", Again: "The same password again", Save: "Save the password",
		WrongChoice: "Choose a password of 8 to 128 characters.", WrongAgain: "The two passwords are not the same. Write the same one in both fields.",
		SavedTitle: "Password saved", SavedText: "You can log in with it now. This link is no longer good.",
		BadLinkTitle: "This link is no longer good", BadLinkText: "It was used, has expired or is incomplete. Open the link of the latest e-mail, or ask for a new one.",
		AskTitle: "Forgot your password?", AskText: "We send you a link to set a new one.",
		Email: "Your e-mail address", Send: "Send a link", WrongEmail: "Write an e-mail address like name@example.com.",
		SentTitle: "Look at your e-mail", SentText: "If there is an account with this address, we have sent a link that is good for an hour. Nothing there? Look in the spam folder too.",
		LimitedTitle: "Too many attempts", LimitedText: "Wait %d min and reload the page.",
		UnavailableTitle: "Back in a moment", UnavailableText: "The service is down. Your link stays good: try again in a moment.",
		BrokenTitle: "Something went wrong", BrokenText: "The fault is ours, not yours. Try again in a moment.",
		MethodTitle: "This cannot be done here", MethodText: "Open the link of the e-mail that you received.",
		Hello:         "Hello %s,",
		InviteSubject: "Your account at %s", InviteEmail: "An account was made for you at %s. Set your password within a week:",
		ResetSubject: "Set a new password", ResetEmail: "Somebody, probably you, asked for a new password for your account at %s. Set it within an hour:",
		NotYou: "If it was not you, nothing needs to be done.",
	},
	infopage.Spanish: {
		ResetTitle: "Define una nueva contraseña", ResetText: "Vale desde ahora. Quien esté conectado a tu cuenta tendrá que entrar de nuevo.",
		InviteTitle: "Define tu contraseña", InviteText: "Con ella y tu correo entras en la cuenta que crearon para ti.",
		Choice: "Nueva contraseña", ChoiceHint: "De 8 a 128 caracteres.", Again: "La misma contraseña, otra vez", Save: "Guardar la contraseña",
		WrongChoice: "Elige una contraseña de 8 a 128 caracteres.", WrongAgain: "Las dos contraseñas no son iguales. Escribe la misma en los dos campos.",
		SavedTitle: "Contraseña guardada", SavedText: "Ya puedes entrar con ella. Este enlace ya no vale.",
		BadLinkTitle: "Este enlace ya no vale", BadLinkText: "Ya fue usado, venció o está incompleto. Abre el enlace del correo más reciente o pide uno nuevo.",
		AskTitle: "¿Olvidaste la contraseña?", AskText: "Te enviaremos un enlace para definir una nueva.",
		Email: "Tu correo", Send: "Enviar un enlace", WrongEmail: "Escribe un correo como nombre@ejemplo.com.",
		SentTitle: "Revisa tu correo", SentText: "Si hay una cuenta con esa dirección, enviamos un enlace que vale una hora. ¿No llegó? Mira también en el spam.",
		LimitedTitle: "Demasiados intentos", LimitedText: "Espera %d min y recarga la página.",
		UnavailableTitle: "Volvemos enseguida", UnavailableText: "El servicio no está disponible. Tu enlace sigue valiendo: inténtalo de nuevo en unos instantes.",
		BrokenTitle: "Algo salió mal", BrokenText: "La falla es nuestra, no tuya. Inténtalo de nuevo en unos instantes.",
		MethodTitle: "Esto no se puede hacer aquí", MethodText: "Abre el enlace del correo que recibiste.",
		Hello:         "Hola, %s:",
		InviteSubject: "Tu cuenta en %s", InviteEmail: "Crearon una cuenta para ti en %s. Define tu contraseña dentro de siete días:",
		ResetSubject: "Define una nueva contraseña", ResetEmail: "Alguien, probablemente tú, pidió una nueva contraseña para tu cuenta en %s. Defínela dentro de una hora:",
		NotYou: "Si no fuiste tú, no hace falta hacer nada.",
	},
}
