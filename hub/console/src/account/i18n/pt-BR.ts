import type { AccountMessages } from "./en";

export const messages: AccountMessages = {
	nav: { connections: "Conexões", integrations: "Integrações" },
	shell: {
		search: "Buscar no registro por evento, entrega ou id de correlação",
		roles: { owner: "Proprietário", admin: "Administrador", staff: "Equipe", professional: "Profissional", user: "Usuário" },
	},
	integrations: {
		lead: "Outros produtos aos quais esta conta está conectada.",
		empty: "Conecte outro produto com uma chave que ele emitiu.",
	},
};
