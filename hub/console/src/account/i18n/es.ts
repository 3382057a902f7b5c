import type { AccountMessages } from "./en";

export const messages: AccountMessages = {
	nav: { connections: "Conexiones", integrations: "Integraciones" },
	shell: {
		search: "Buscar en el registro por evento, entrega o id de correlación",
		roles: { owner: "Propietario", admin: "Administrador", staff: "Equipo", professional: "Profesional", user: "Usuario" },
	},
	integrations: {
		lead: "Otros productos a los que está conectada esta cuenta.",
		empty: "Conecte otro producto con una clave que este emitió.",
	},
};
